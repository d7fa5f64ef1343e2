"""
Which schema does a developer give, and from which file? JSON Schemas as mappings, or as files shared with others.

In comes a mapping or a path; out come the schema and what pins its file: its name and the digest of its bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from gatewright.policy.errors import Misuse
from gatewright.policy.model import Schema

__all__ = ["SchemaSource", "read_pin", "read_stated"]

SchemaSource: TypeAlias = "Mapping[str, Any] | str | Path | None"
"""A JSON Schema, a file of one, or None where the annotations say it."""


def read_stated(source: SchemaSource, name: str, what: str) -> Schema | None:
    """
    Return the schema at *source*; *name* is the tool's, *what* says which of its schemas this is.

    Raises:
        Misuse: the file cannot be read, or holds no JSON object.
    """
    if source is None or isinstance(source, Mapping):
        return source
    try:
        read = json.loads(Path(source).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Misuse(f"{name}: {what} is a file that cannot be read", f"a JSON Schema at {source}") from error
    if not isinstance(read, Mapping):
        raise Misuse(f"{name}: {what} is no JSON object", f"a JSON Schema at {source}")
    return cast("Schema", read)


def read_pin(source: SchemaSource) -> dict[str, str]:
    """Return the file's name and the SHA-256 of its bytes, as `sha256sum` prints it; nothing where there is no file."""
    if source is None or isinstance(source, Mapping):
        return {}
    path = Path(source)
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
