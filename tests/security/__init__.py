"""Attacks: what a hostile input, a clumsy operator, a bad network or a wrong clock may try."""
