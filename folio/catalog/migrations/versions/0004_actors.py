"""Room for the names of system users among those who act; a job keeps who submitted it."""

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A new column and not a wider one: SQLite would rebuild the table, and dropping the old one takes its items along.
    op.add_column('ingest_jobs', sa.Column('actor', sa.String(length=100), nullable=False, server_default=''))
    op.execute('UPDATE ingest_jobs SET actor = created_by')
    op.drop_column('ingest_jobs', 'created_by')
    with op.batch_alter_table('audit_events', schema=None) as batch_op:
        batch_op.alter_column('actor', existing_type=sa.String(length=32), type_=sa.String(length=100))


def downgrade() -> None:
    op.execute("DELETE FROM audit_events WHERE length(actor) > 32")
    with op.batch_alter_table('audit_events', schema=None) as batch_op:
        batch_op.alter_column('actor', existing_type=sa.String(length=100), type_=sa.String(length=32))
    op.add_column('ingest_jobs', sa.Column('created_by', sa.String(length=32), nullable=False, server_default=''))
    op.execute('UPDATE ingest_jobs SET created_by = substr(actor, 1, 32)')
    op.drop_column('ingest_jobs', 'actor')
