"""Items found by the bytes that they brought."""

from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index('ix_ingest_items_sha256', 'ingest_items', ['sha256'])


def downgrade() -> None:
    op.drop_index('ix_ingest_items_sha256', table_name='ingest_items')
