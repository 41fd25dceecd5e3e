"""Which process a claim's sends belong to; a job's review and notice are known by the claim too."""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.indexes import create_index, drop_index

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

BY_JOB = ("reviews", "notices")


def upgrade() -> None:
    """A column that old workers leave empty; unique by job and claim where it was by job alone."""
    for table in BY_JOB:
        create_index(f"ix_{table}_job_key", table, ["job_key", "claim_id"], unique=True)
    op.add_column("claims", sa.Column("process_instance_key", sa.BigInteger()))
    for table in BY_JOB:
        with op.batch_alter_table(table) as changed:
            changed.drop_constraint(f"uq_{table}_job_key", type_="unique")


def downgrade() -> None:
    """Take both back."""
    for table in BY_JOB:
        drop_index(f"ix_{table}_job_key", table)
    for table in BY_JOB:
        with op.batch_alter_table(table) as changed:
            changed.create_unique_constraint(f"uq_{table}_job_key", ["job_key"])
    op.drop_column("claims", "process_instance_key")
