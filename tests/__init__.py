"""Prove it."""
