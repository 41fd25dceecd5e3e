"""Payers as workers treat them: who may go, who waits, who is woken, and what people may order."""
