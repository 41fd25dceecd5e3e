"""Attacks: hostile input, a clumsy operator, a bad network."""
