"""Sensitive values: their cipher and its keys."""
