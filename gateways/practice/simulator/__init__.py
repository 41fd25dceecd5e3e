"""A payer for practice: a real SOAP server that follows a scenario and keeps a ledger."""
