"""How the database is opened and spoken to; no table is known here."""
