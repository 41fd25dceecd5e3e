"""Stored claims played again."""
