"""What tests of several folders ask for; one PostgreSQL server serves them all."""

from tests.support.databases import database, empty_url, kind, postgres, postgres_url, store, url

__all__ = ["database", "empty_url", "kind", "postgres", "postgres_url", "store", "url"]
