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


def body_of(kind: Any) -> dict[str, Any]:
    """The schema of a request body that a handler reads by itself; what it refers to goes with the other schemas."""
    schema: dict[str, Any] = TypeAdapter(kind).json_schema(ref_template=PREFIX + "{model}")
    SCHEMAS.update(schema.pop("$defs", {}))
    return schema


def json_or_events(kind: Any) -> dict[str, Any]:
    """A reply that is JSON, or server-sent events where the request asked for a stream."""
    described = json_of(kind)
    described["content"] |= events()["content"]
    return described


def json_or_text(kind: Any) -> dict[str, Any]:
    """A reply that is JSON, or plain text where the request asked for that."""
    described = json_of(kind)
    described["content"] |= plain_text()["content"]
    return described


def plain_text() -> dict[str, Any]:
    """A reply of plain text."""
    return {"content": {"text/plain": {"schema": {"type": "string"}}}}


def events() -> dict[str, Any]:
    """A reply of server-sent events."""
    fields = {"event": {"type": "string"}, "data": {"type": "string"}, "id": {"type": "string"}}
    return {"content": {"text/event-stream": {"schema": {"type": "object", "properties": fields}}}}


def binary() -> dict[str, Any]:
    """A reply of bytes, of whatever type the file has."""
    return {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
