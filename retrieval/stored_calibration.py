"""The calibration that is kept with each collection, measured anew when the collection has outgrown it."""

import threading

from folio.catalog import Catalog
from folio.catalog.models import Collection
from retrieval.calibration import Calibration, calibrate
from retrieval.embedder import Embedder
from retrieval.lexical import LexicalSnapshot


class StoredCalibrations:
    """Reads, measures and writes calibrations; one measurement at a time in a process."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._catalog = catalog
        self._embedder = embedder
        self._measuring = threading.Lock()

    def current(self, collection_id: str, chunks: int, lexical: LexicalSnapshot) -> Calibration:
        """The stored calibration, or a new one when it is stale for a collection of `chunks` chunks."""
        with self._measuring:
            with self._catalog.read() as session:
                row = session.get(Collection, collection_id)
                known = Calibration.model_validate(row.calibration if row else {})
            return self._measure(collection_id, lexical) if known.is_stale(chunks) else known

    def measure(self, collection_id: str, lexical: LexicalSnapshot) -> Calibration:
        """Measure each leg now, and keep the result with the collection."""
        with self._measuring:
            return self._measure(collection_id, lexical)

    def _measure(self, collection_id: str, lexical: LexicalSnapshot) -> Calibration:
        with self._catalog.read() as session:
            measured = calibrate(session, collection_id, self._embedder, lexical)
        with self._catalog.write() as session:
            row = session.get(Collection, collection_id)
            if row is not None:
                row.calibration = measured.model_dump()
        return measured
