"""An answer made again from its receipt: the same prompt to the engine, and what is different now."""

import difflib

from pydantic import BaseModel
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Document
from generation.engine import Engine, GenerationRequest, Message
from generation.receipts import Receipt, Receipts


class Replay(BaseModel):
    """What came of making an answer again."""

    answer_id: str
    model_then: str
    model_now: str
    raw_then: str
    raw_now: str
    same: bool
    difference: list[str]
    changed_passages: list[int]


class Replayer:
    """Replays answers of a catalog on an engine."""

    def __init__(self, catalog: Catalog, engine: Engine) -> None:
        self._catalog = catalog
        self._engine = engine

    def replay(self, answer_id: str) -> Replay:
        """Send the stored prompt again.

        Raises:
            NotFound: there is no such answer.
            EngineNotReady: the engine can't answer now.
        """
        receipt = Receipts(self._catalog).get(answer_id)
        raw = self._generate(receipt) if receipt.prompt else ""
        return Replay(
            answer_id=answer_id,
            model_then=receipt.answer.model,
            model_now=self._engine.model_name(),
            raw_then=receipt.raw,
            raw_now=raw,
            same=raw == receipt.raw,
            difference=list(
                difflib.unified_diff(receipt.raw.splitlines(), raw.splitlines(), "then", "now", lineterm="")
            ),
            changed_passages=self._changed(receipt),
        )

    def _generate(self, receipt: Receipt) -> str:
        messages = tuple(Message(m.role, m.content) for m in receipt.prompt)  # type: ignore[arg-type]
        request = GenerationRequest(messages, receipt.sampling, receipt.max_tokens)
        return "".join(token.text for token in self._engine.stream_chat(request))

    def _changed(self, receipt: Receipt) -> list[int]:
        """Numbers of the passages whose document is another version now, or gone."""
        ids = {passage.document_id for passage in receipt.passages}
        with self._catalog.read() as session:
            versions = dict(
                session.execute(select(Document.id, Document.version).where(Document.id.in_(ids))).tuples().all()
            )
        return [p.n for p in receipt.passages if versions.get(p.document_id) != p.document_version]
