"""Tests that ask for a database run on SQLite and on PostgreSQL."""

from tests.support.databases import database, empty_url, kind, postgres, postgres_url, store, url

__all__ = ["database", "empty_url", "kind", "postgres", "postgres_url", "store", "url"]
