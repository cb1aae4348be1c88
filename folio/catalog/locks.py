"""What only one transaction at a time may do, over all processes and machines.

SQLite has one writer at a time anyway. On PostgreSQL a transaction may ask for a turn, which ends with it.
"""

from enum import IntEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session


class Turn(IntEnum):
    """What is done by turns. The numbers are those of PostgreSQL's advisory locks."""

    TAKE_ITEM = 704652  # else two workers would take twins, which they can't see in each other's hands yet
    FILES = 704653  # else stored bytes could go while a job that needs them is being written


def wait_turn(session: Session, turn: Turn) -> None:
    """Wait until no other transaction has this turn; it is this one's until the transaction ends."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(int(turn))))
