"""Remembers: tables, transactions and migrations on SQLite or PostgreSQL."""
