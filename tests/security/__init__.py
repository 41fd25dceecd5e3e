"""Attacks: what a hostile input, a clumsy operator or a bad network must not achieve."""
