"""Makes tables append-only in the database itself; an uncommitted permit row opens a gap for retention."""

from collections.abc import Iterator

POSTGRES_GUARD = """
CREATE FUNCTION reenvio_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM audit_permits WHERE permit = TG_TABLE_NAME || ':' || TG_OP) THEN
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$
"""
DROP_POSTGRES_GUARD = "DROP FUNCTION reenvio_append_only()"


def guards(dialect: str, table: str) -> Iterator[str]:
    """The statements that forbid changing and deleting rows of a table."""
    if dialect == "postgresql":
        yield _postgres_rows(table)
        yield _postgres_truncate(table)
    else:
        yield from (_sqlite(table, verb) for verb in ("UPDATE", "DELETE"))


def _postgres_rows(table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION reenvio_append_only()"
    )


def _postgres_truncate(table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION reenvio_append_only()"
    )


def _sqlite(table: str, verb: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "  # noqa: S608
        f"WHEN NOT EXISTS (SELECT 1 FROM audit_permits WHERE permit = '{table}:{verb}') "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )
