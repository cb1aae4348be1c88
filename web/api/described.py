"""Puts into the OpenAPI description what its generator can't see: replies that are dataclasses, and event streams."""

from typing import Any

from pydantic import TypeAdapter

SCHEMAS: dict[str, dict[str, Any]] = {}  # filled while the handlers are imported, then constant
PREFIX = "#/components/schemas/"


def json_of(kind: Any) -> dict[str, Any]:
    """A JSON reply of this type (a pydantic model or a dataclass), for `responses`."""
    schema = TypeAdapter(kind).json_schema(mode="serialization", ref_template=PREFIX + "{model}")
    SCHEMAS.update(schema.pop("$defs", {}))
    SCHEMAS[schema["title"]] = schema
    return {"content": {"application/json": {"schema": {"$ref": PREFIX + schema["title"]}}}}


def json_or_events(kind: Any) -> dict[str, Any]:
    """A reply that is JSON, or server-sent events where the request asked for a stream."""
    described = json_of(kind)
    described["content"] |= events()["content"]
    return described


def events() -> dict[str, Any]:
    """A reply of server-sent events."""
    return {"content": {"text/event-stream": {"schema": {"type": "string"}}}}


def binary() -> dict[str, Any]:
    """A reply of bytes, of whatever type the file has."""
    return {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
