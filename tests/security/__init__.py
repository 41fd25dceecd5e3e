"""Attacks: hostile input, a clumsy operator, a bad network; each named after what it cannot do."""
