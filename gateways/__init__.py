"""Speaks to the outside: Zeebe, payers and, later, mail and queues."""
