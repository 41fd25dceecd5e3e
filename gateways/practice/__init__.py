"""Payers: what takes the claims."""
