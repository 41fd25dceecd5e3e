"""Prove it against what nobody thought of: mutated answers, files and requests, by seed."""
