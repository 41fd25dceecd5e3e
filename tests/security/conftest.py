"""Every test that asks for a database runs on SQLite and on PostgreSQL."""

from tests.support.databases import database, empty_url, kind, postgres, postgres_url, store, url

__all__ = ["database", "empty_url", "kind", "postgres", "postgres_url", "store", "url"]
