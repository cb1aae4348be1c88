"""How each document was read, and the look-ups that jobs and deletions make."""

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('documents', sa.Column('reading', sa.String(length=16), nullable=False, server_default=''))
    op.create_index('ix_documents_file', 'documents', ['sha256'])
    op.create_index('ix_ingest_items_document', 'ingest_items', ['document_id'])
    op.drop_index('ix_ingest_items_job_state', table_name='ingest_items')
    op.create_index('ix_ingest_items_job_state', 'ingest_items', ['job_id', 'state', 'ordinal'])


def downgrade() -> None:
    op.drop_index('ix_ingest_items_job_state', table_name='ingest_items')
    op.create_index('ix_ingest_items_job_state', 'ingest_items', ['job_id', 'state'])
    op.drop_index('ix_ingest_items_document', table_name='ingest_items')
    op.drop_index('ix_documents_file', table_name='documents')
    op.drop_column('documents', 'reading')
