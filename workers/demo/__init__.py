"""The demo: sample claims through four hours of a payer's bad day, in about a minute."""
