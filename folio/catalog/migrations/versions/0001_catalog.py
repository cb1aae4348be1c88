"""The first catalog."""

import sqlalchemy as sa
from alembic import op

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('api_keys',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('name', sa.String(length=200), nullable=False),
    sa.Column('hash', sa.String(length=128), nullable=False),
    sa.Column('scopes', sa.JSON(), nullable=False),
    sa.Column('collections', sa.JSON(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('last_used_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('hash')
    )
    op.create_table('audit_events',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('actor', sa.String(length=32), nullable=False),
    sa.Column('action', sa.String(length=60), nullable=False),
    sa.Column('subject', sa.String(length=2000), nullable=False),
    sa.Column('detail', sa.JSON(), nullable=False),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('audit_events', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_audit_events_at'), ['at'], unique=False)

    op.create_table('collections',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('name', sa.String(length=200), nullable=False),
    sa.Column('description', sa.Text(), nullable=False),
    sa.Column('embedding_model', sa.String(length=500), nullable=False),
    sa.Column('embedding_fingerprint', sa.String(length=64), nullable=False),
    sa.Column('dimension', sa.Integer(), nullable=False),
    sa.Column('chunking', sa.JSON(), nullable=False),
    sa.Column('languages', sa.JSON(), nullable=False),
    sa.Column('calibration', sa.JSON(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('name')
    )
    op.create_table('evaluation_runs',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('kind', sa.String(length=20), nullable=False),
    sa.Column('dataset', sa.String(length=300), nullable=False),
    sa.Column('settings', sa.JSON(), nullable=False),
    sa.Column('figures', sa.JSON(), nullable=False),
    sa.Column('details', sa.JSON(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('evaluation_runs', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_evaluation_runs_created_at'), ['created_at'], unique=False)

    op.create_table('idempotency_records',
    sa.Column('key', sa.String(length=300), nullable=False),
    sa.Column('request_sha256', sa.String(length=64), nullable=False),
    sa.Column('response', sa.JSON(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('key')
    )
    op.create_table('index_changes',
    sa.Column('seq', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('document_id', sa.String(length=32), nullable=False),
    sa.Column('kind', sa.String(length=10), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('seq'),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('index_changes', schema=None) as batch_op:
        batch_op.create_index('ix_index_changes_collection', ['collection_id', 'seq'], unique=False)

    op.create_table('conversations',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('title', sa.String(length=300), nullable=False),
    sa.Column('owner', sa.String(length=32), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('updated_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['collection_id'], ['collections.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('conversations', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_conversations_collection_id'), ['collection_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_conversations_owner'), ['owner'], unique=False)

    op.create_table('documents',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('uri', sa.String(length=2000), nullable=False),
    sa.Column('title', sa.String(length=1000), nullable=False),
    sa.Column('media_type', sa.String(length=200), nullable=False),
    sa.Column('sha256', sa.String(length=64), nullable=False),
    sa.Column('size_bytes', sa.BigInteger(), nullable=False),
    sa.Column('version', sa.Integer(), nullable=False),
    sa.Column('status', sa.String(length=20), nullable=False),
    sa.Column('language', sa.String(length=8), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('pages', sa.JSON(), nullable=False),
    sa.Column('tags', sa.JSON(), nullable=False),
    sa.Column('meta', sa.JSON(), nullable=False),
    sa.Column('source_modified_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('updated_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['collection_id'], ['collections.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('collection_id', 'uri', name='uq_documents_collection_uri')
    )
    with op.batch_alter_table('documents', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_documents_collection_id'), ['collection_id'], unique=False)
        batch_op.create_index('ix_documents_sha256', ['collection_id', 'sha256'], unique=False)

    op.create_table('index_generations',
    sa.Column('id', sa.String(length=64), nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('sequence', sa.BigInteger(), nullable=False),
    sa.Column('chunks', sa.Integer(), nullable=False),
    sa.Column('embedding_fingerprint', sa.String(length=64), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['collection_id'], ['collections.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('index_generations', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_index_generations_collection_id'), ['collection_id'], unique=False)

    op.create_table('ingest_jobs',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('source', sa.Text(), nullable=False),
    sa.Column('state', sa.String(length=20), nullable=False),
    sa.Column('options', sa.JSON(), nullable=False),
    sa.Column('created_by', sa.String(length=32), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['collection_id'], ['collections.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('ingest_jobs', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_ingest_jobs_collection_id'), ['collection_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_ingest_jobs_state'), ['state'], unique=False)

    op.create_table('answers',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('conversation_id', sa.String(length=32), nullable=True),
    sa.Column('owner', sa.String(length=32), nullable=False),
    sa.Column('question', sa.Text(), nullable=False),
    sa.Column('rewritten_question', sa.Text(), nullable=False),
    sa.Column('language', sa.String(length=8), nullable=False),
    sa.Column('answer', sa.Text(), nullable=False),
    sa.Column('refused', sa.Boolean(), nullable=False),
    sa.Column('model', sa.String(length=500), nullable=False),
    sa.Column('receipt', sa.JSON(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['collection_id'], ['collections.id'], ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['conversation_id'], ['conversations.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('answers', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_answers_collection_id'), ['collection_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_answers_conversation_id'), ['conversation_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_answers_created_at'), ['created_at'], unique=False)
        batch_op.create_index(batch_op.f('ix_answers_owner'), ['owner'], unique=False)

    op.create_table('chunks',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), autoincrement=True, nullable=False),
    sa.Column('collection_id', sa.String(length=32), nullable=False),
    sa.Column('document_id', sa.String(length=32), nullable=False),
    sa.Column('ordinal', sa.Integer(), nullable=False),
    sa.Column('start', sa.Integer(), nullable=False),
    sa.Column('end', sa.Integer(), nullable=False),
    sa.Column('page_start', sa.Integer(), nullable=True),
    sa.Column('page_end', sa.Integer(), nullable=True),
    sa.Column('heading_path', sa.JSON(), nullable=False),
    sa.Column('text', sa.Text(), nullable=False),
    sa.Column('token_count', sa.Integer(), nullable=False),
    sa.Column('embedded_sha256', sa.String(length=64), nullable=False),
    sa.Column('vector', sa.LargeBinary(), nullable=False),
    sa.ForeignKeyConstraint(['collection_id'], ['collections.id'], ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['document_id'], ['documents.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('document_id', 'ordinal', name='uq_chunks_document_ordinal'),
    sqlite_autoincrement=True
    )
    with op.batch_alter_table('chunks', schema=None) as batch_op:
        batch_op.create_index('ix_chunks_collection_embedded', ['collection_id', 'embedded_sha256'], unique=False)

    op.create_table('ingest_items',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('job_id', sa.String(length=32), nullable=False),
    sa.Column('ordinal', sa.Integer(), nullable=False),
    sa.Column('uri', sa.String(length=2000), nullable=False),
    sa.Column('title', sa.String(length=1000), nullable=False),
    sa.Column('media_type', sa.String(length=200), nullable=False),
    sa.Column('sha256', sa.String(length=64), nullable=False),
    sa.Column('size_bytes', sa.BigInteger(), nullable=False),
    sa.Column('source_modified_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('options', sa.JSON(), nullable=False),
    sa.Column('state', sa.String(length=20), nullable=False),
    sa.Column('stage', sa.String(length=20), nullable=False),
    sa.Column('attempts', sa.Integer(), nullable=False),
    sa.Column('reason_code', sa.String(length=40), nullable=False),
    sa.Column('reason', sa.Text(), nullable=False),
    sa.Column('worker', sa.String(length=100), nullable=False),
    sa.Column('heartbeat_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('chunks_total', sa.Integer(), nullable=False),
    sa.Column('chunks_done', sa.Integer(), nullable=False),
    sa.Column('chunks_reused', sa.Integer(), nullable=False),
    sa.Column('document_id', sa.String(length=32), nullable=False),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['job_id'], ['ingest_jobs.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id')
    )
    with op.batch_alter_table('ingest_items', schema=None) as batch_op:
        batch_op.create_index('ix_ingest_items_job_state', ['job_id', 'state'], unique=False)
        batch_op.create_index('ix_ingest_items_state', ['state'], unique=False)

    op.create_table('feedback',
    sa.Column('id', sa.String(length=32), nullable=False),
    sa.Column('answer_id', sa.String(length=32), nullable=False),
    sa.Column('rating', sa.Integer(), nullable=False),
    sa.Column('comment', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['answer_id'], ['answers.id'], ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id'),
    sa.UniqueConstraint('answer_id')
    )


def downgrade() -> None:
    op.drop_table('feedback')
    with op.batch_alter_table('ingest_items', schema=None) as batch_op:
        batch_op.drop_index('ix_ingest_items_state')
        batch_op.drop_index('ix_ingest_items_job_state')

    op.drop_table('ingest_items')
    with op.batch_alter_table('chunks', schema=None) as batch_op:
        batch_op.drop_index('ix_chunks_collection_embedded')

    op.drop_table('chunks')
    with op.batch_alter_table('answers', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_answers_owner'))
        batch_op.drop_index(batch_op.f('ix_answers_created_at'))
        batch_op.drop_index(batch_op.f('ix_answers_conversation_id'))
        batch_op.drop_index(batch_op.f('ix_answers_collection_id'))

    op.drop_table('answers')
    with op.batch_alter_table('ingest_jobs', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_ingest_jobs_state'))
        batch_op.drop_index(batch_op.f('ix_ingest_jobs_collection_id'))

    op.drop_table('ingest_jobs')
    with op.batch_alter_table('index_generations', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_index_generations_collection_id'))

    op.drop_table('index_generations')
    with op.batch_alter_table('documents', schema=None) as batch_op:
        batch_op.drop_index('ix_documents_sha256')
        batch_op.drop_index(batch_op.f('ix_documents_collection_id'))

    op.drop_table('documents')
    with op.batch_alter_table('conversations', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_conversations_owner'))
        batch_op.drop_index(batch_op.f('ix_conversations_collection_id'))

    op.drop_table('conversations')
    with op.batch_alter_table('index_changes', schema=None) as batch_op:
        batch_op.drop_index('ix_index_changes_collection')

    op.drop_table('index_changes')
    op.drop_table('idempotency_records')
    with op.batch_alter_table('evaluation_runs', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_evaluation_runs_created_at'))

    op.drop_table('evaluation_runs')
    op.drop_table('collections')
    with op.batch_alter_table('audit_events', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_audit_events_at'))

    op.drop_table('audit_events')
    op.drop_table('api_keys')
