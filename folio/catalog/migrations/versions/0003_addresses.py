"""What readers are shown of where a document comes from; of files already there, the name."""

import sqlalchemy as sa
from alembic import op

from folio.addresses import shown_address

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    for name in ('documents', 'ingest_items'):
        op.add_column(name, sa.Column('address', sa.String(length=2000), nullable=False, server_default=''))
        table = sa.table(name, sa.column('id', sa.String), sa.column('uri', sa.String), sa.column('address', sa.String))
        connection.execute(sa.update(table).values(address=table.c.uri))
        on_disk = connection.execute(sa.select(table.c.id, table.c.uri).where(table.c.uri.startswith('file:/'))).all()
        if on_disk:
            by_id = sa.update(table).where(table.c.id == sa.bindparam('of')).values(address=sa.bindparam('shown'))
            connection.execute(by_id, [{'of': row.id, 'shown': shown_address(row.uri)} for row in on_disk])


def downgrade() -> None:
    op.drop_column('ingest_items', 'address')
    op.drop_column('documents', 'address')
