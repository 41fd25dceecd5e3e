"""Finds claims whose guides are not on record; an index comes first in its revision, after its column's."""

from persistence.migrations.indexes import create_index, drop_index

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NOT_KEPT = "content_hash IS NOT NULL AND (guides_of IS NULL OR guides_of <> content_hash)"


def upgrade() -> None:
    """An index of the claims that an earlier version took in or corrected."""
    create_index("ix_claims_guides_not_kept", "claims", ["payer_id"], where=NOT_KEPT)


def downgrade() -> None:
    """Drop it again."""
    drop_index("ix_claims_guides_not_kept", "claims")
