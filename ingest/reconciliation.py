"""Compares the catalog with itself, with the indexes and with the stored files."""

from sqlalchemy import func, select

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document
from folio.settings import Settings
from ingest.leftovers import leftovers
from ingest.storage import FileStorage
from retrieval.generations import Generations

HALF_FLOAT_BYTES = 2


def differences(catalog: Catalog, generations: Generations, settings: Settings) -> list[str]:
    """Every difference, a sentence each; empty when all agree."""
    storage = FileStorage(settings.files_dir)
    found: list[str] = []
    with catalog.read() as session:
        collections = session.scalars(select(Collection).order_by(Collection.name)).all()
        for document in session.scalars(select(Document).execution_options(yield_per=200)):
            if not storage.path(document.sha256).is_file():
                found.append(f"document {document.id} ({document.title}): its original file is gone")
            if session.scalar(select(Chunk.id).where(Chunk.document_id == document.id).limit(1)) is None:
                found.append(f"document {document.id} ({document.title}): it has no chunks")
            for chunk in session.scalars(select(Chunk).where(Chunk.document_id == document.id)):
                if document.text[chunk.start : chunk.end] != chunk.text:
                    found.append(f"document {document.id} ({document.title}): chunk {chunk.id} is not its text")
        orphans = session.scalar(select(func.count()).where(Chunk.document_id.not_in(select(Document.id))))
        if orphans:
            found.append(f"{orphans} chunks belong to no document")
        for collection in collections:
            wrong = session.scalar(
                select(func.count()).where(
                    Chunk.collection_id == collection.id,
                    func.length(Chunk.vector) != HALF_FLOAT_BYTES * collection.dimension,
                )
            )
            if wrong:
                found.append(f"collection {collection.name}: {wrong} vectors have the wrong length")
    for collection in collections:
        found += [f"collection {collection.name}: {line}" for line in generations.verify(collection.id)]
    found += [
        f"stored file {path.name}: nothing needs it; `folio doctor --sweep` removes it"
        for path in leftovers(catalog, storage)
    ]
    return found
