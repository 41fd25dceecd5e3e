"""Decides: pure rules; no I/O, no clock, no randomness, no framework."""
