"""What readers say of answers."""

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Answer, Feedback, now
from folio.errors import InvalidRequest, NotFound


class FeedbackStore:
    """One word per answer; a later one replaces it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def rate(self, answer_id: str, rating: int, comment: str = "") -> None:
        """Store a rating, 1 for good or -1 for bad.

        Raises:
            InvalidRequest: the rating is neither.
            NotFound: there is no such answer.
        """
        if rating not in (1, -1):
            raise InvalidRequest("A rating is 1 (good) or -1 (bad).")
        with self._catalog.write() as session:
            if session.get(Answer, answer_id) is None:
                raise NotFound(f"There is no answer {answer_id!r}.")
            row = session.scalar(select(Feedback).where(Feedback.answer_id == answer_id))
            if row is None:
                session.add(Feedback(answer_id=answer_id, rating=rating, comment=comment))
            else:
                row.rating, row.comment, row.created_at = rating, comment, now()
