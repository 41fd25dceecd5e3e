-- Two roles for PostgreSQL, so that nobody who works with claims can rewrite what was written about them.
-- Run it as the owner of the tables, after the first `reenvio migrate` and after each later one:
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f roles.sql
-- then give each process a user of its own, for example
--   CREATE USER worker PASSWORD '...' IN ROLE reenvio_workers;         -- DATABASE_URL
--   CREATE USER remover PASSWORD '...' IN ROLE reenvio_retention;      -- RETENTION_DATABASE_URL
-- Neither owns a table, so neither can drop a trigger, switch row security off, or truncate.

DO $$
DECLARE wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['reenvio_workers', 'reenvio_retention'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
  END LOOP;
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO reenvio_workers, reenvio_retention;

-- Workers: append to the trail, never change or remove; operate on the rest; remove no claim's history.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reenvio_workers;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO reenvio_workers;
REVOKE UPDATE, DELETE ON audit_events, audit_anchors, policies, retry_decisions, claim_events FROM reenvio_workers;
REVOKE UPDATE, DELETE ON operator_orders, adopted_policies FROM reenvio_workers;
GRANT UPDATE (refused_at) ON operator_orders TO reenvio_workers;
REVOKE DELETE ON claims, submission_attempts, reviews, notices, mails, outbox, first_rounds, bulk_orders, bulk_items
  FROM reenvio_workers;
REVOKE INSERT, UPDATE, DELETE ON audit_permits, error_statistics, alembic_version FROM reenvio_workers;

-- Retention: read, and remove what is past its period; it writes nothing that anybody decides by.
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reenvio_retention;
GRANT DELETE ON audit_events, retry_decisions, claim_events, claims, claim_guides, claim_payloads, claim_texts,
  submission_attempts, reviews, notices, mails, outbox, operator_orders, first_rounds, bulk_items,
  review_assignees TO reenvio_retention;
GRANT UPDATE (result) ON submission_attempts TO reenvio_retention;
GRANT UPDATE (pruned_at) ON audit_anchors TO reenvio_retention;
GRANT INSERT, DELETE ON audit_permits TO reenvio_retention;
GRANT INSERT, UPDATE, DELETE ON error_statistics TO reenvio_retention;

-- Not even retention removes audit events before five years are over, by the database's own clock.
ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_anchors ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS reenvio_read ON audit_events;
DROP POLICY IF EXISTS reenvio_append ON audit_events;
DROP POLICY IF EXISTS reenvio_expired ON audit_events;
DROP POLICY IF EXISTS reenvio_read ON audit_anchors;
DROP POLICY IF EXISTS reenvio_append ON audit_anchors;
DROP POLICY IF EXISTS reenvio_expired ON audit_anchors;
CREATE POLICY reenvio_read ON audit_events FOR SELECT USING (true);
CREATE POLICY reenvio_append ON audit_events FOR INSERT TO reenvio_workers WITH CHECK (true);
CREATE POLICY reenvio_expired ON audit_events FOR DELETE TO reenvio_retention
  USING (at < now() - interval '1826 days');
CREATE POLICY reenvio_read ON audit_anchors FOR SELECT USING (true);
CREATE POLICY reenvio_append ON audit_anchors FOR INSERT TO reenvio_workers WITH CHECK (true);
CREATE POLICY reenvio_expired ON audit_anchors FOR UPDATE TO reenvio_retention
  USING (day < (now() - interval '1826 days')::date);

-- Tables of later migrations: workers operate on them; run this file again to narrow that down.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO reenvio_workers;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO reenvio_workers;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reenvio_retention;
