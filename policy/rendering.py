"""
How is a tool shown to a model? One tool and a role schema as the providers' wire formats, with reversible names.

In come a catalog record and the caller's role schema; out comes a plain dict whose bytes are always the same. Every
rendering says when to use the tool, when not, and what it does to the world. Validation never uses a rendering.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from gatewright.policy.errors import Misuse
from gatewright.policy.lowering import lower
from gatewright.policy.model import Json, Schema, ToolSpec
from gatewright.policy.root import flatten_root
from gatewright.policy.strict import make_strict
from gatewright.policy.subsets import GEMINI, Loss
from gatewright.policy.validator import thaw

__all__ = [
    "FORMATS",
    "Format",
    "Rendering",
    "describe_tool",
    "parse_name",
    "render",
    "render_name",
]

Format: TypeAlias = Literal["plain", "openai", "openai-strict", "anthropic", "mcp", "gemini"]

FORMATS: Final[tuple[Format, ...]] = ("plain", "openai", "openai-strict", "anthropic", "mcp", "gemini")

_SIDE_EFFECTS: Final[Mapping[str, str]] = {
    "read": "Side effects: none, it only reads.",
    "write": "Side effects: it changes data, and a call may not be undone.",
}
_EVERYWHERE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ESCAPED: Final = "x--"
_SHORTENED: Final = "h--"
_KEPT: Final = 40
_DIGEST: Final = 20


@dataclass(frozen=True, slots=True)
class Rendering:
    """A tool as one format shows it, and what its role schema says that this does not."""

    tool: Mapping[str, Json]
    losses: tuple[Loss, ...] = ()

    def plain(self) -> dict[str, Json]:
        """Return the tool as plain dicts and lists, free to change."""
        return cast("dict[str, Json]", thaw(self.tool))


def render(spec: ToolSpec, schema: Schema, format: Format, *, result: Schema | None = None) -> Rendering:
    """
    Return *spec* as *format* shows it, with *schema* as its arguments, and the losses.

    *result* is the schema of results as the caller's cuts leave it; MCP alone shows it.

    Raises:
        Misuse: there is no such format.
    """
    description = describe_tool(spec)
    if format == "plain":
        return Rendering(
            {"name": spec.name, "kind": spec.kind, "description": description, "parameters": schema},
        )
    if format == "mcp":
        return Rendering(_render_mcp(spec, description, schema, result))
    head: dict[str, Json] = {"name": render_name(spec.name), "description": description}
    if format == "openai-strict":
        strict = make_strict(schema)
        return Rendering(_function(head, strict.schema, is_strict=strict.is_strict), strict.losses)
    parameters, losses = flatten_root(schema)
    if format == "openai":
        return Rendering(_function(head, parameters, is_strict=False), losses)
    if format == "anthropic":
        return Rendering({**head, "input_schema": parameters}, losses)
    if format != "gemini":
        raise Misuse(f"no such format: {format}", f"one of {', '.join(FORMATS)}")
    lowered, more = lower(parameters, GEMINI)
    return Rendering({**head, "parameters_json_schema": lowered}, (*losses, *more))


def describe_tool(spec: ToolSpec) -> str:
    """Return the description: what the tool does, when to use it, when not, and its side effects."""
    parts = [
        spec.description.strip(),
        f"Use when: {spec.use_when.strip()}",
        f"Not for: {spec.not_for.strip()}",
        _SIDE_EFFECTS[spec.kind],
    ]
    return "\n".join(parts)


def render_name(name: str) -> str:
    """
    Return *name* in the letters that every provider takes; two names never give one.

    A dot becomes two underscores. A name that would not come back is escaped; one that is too long is shortened by a
    digest.

    >>> render_name("logs.query"), render_name("a__b.c")
    ('logs__query', 'x--a-5f-5fb-2ec')
    """
    plain = name.replace(".", "__")
    if not name.startswith((_ESCAPED, _SHORTENED)) and _unescape(plain) == name and _EVERYWHERE.fullmatch(plain):
        return plain
    escaped = _ESCAPED + "".join(c if c.isalnum() else f"-{ord(c):02x}" for c in name)
    if _EVERYWHERE.fullmatch(escaped):
        return escaped
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{_SHORTENED}{re.sub('[^A-Za-z0-9]', '_', name)[:_KEPT]}-{digest}"


def parse_name(rendered: str, names: Iterable[str] = ()) -> str:
    """
    Return the tool name that *rendered* stands for; *names* are asked only where a name was shortened.

    What is no rendering comes back as it is: it is either a canonical name or made up, and admission tells.

    >>> parse_name("logs__query"), parse_name("x--a-5f-5fb-2ec")
    ('logs.query', 'a__b.c')
    """
    if rendered.startswith(_SHORTENED):
        return next((name for name in names if render_name(name) == rendered), rendered)
    if rendered.startswith(_ESCAPED):
        name = re.sub("-([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), rendered.removeprefix(_ESCAPED))
    else:
        name = _unescape(rendered)
    return name if render_name(name) == rendered else rendered


def _function(head: Mapping[str, Json], parameters: Schema, *, is_strict: bool) -> dict[str, Json]:
    return {"type": "function", "function": {**head, "parameters": parameters, "strict": is_strict}}


def _render_mcp(spec: ToolSpec, description: str, schema: Schema, result: Schema | None) -> dict[str, Json]:
    reads = spec.kind == "read"
    tool: dict[str, Json] = {"name": spec.name, "description": description, "inputSchema": schema}
    if result is not None:
        tool["outputSchema"] = result
    tool["annotations"] = {"readOnlyHint": True} if reads else {"readOnlyHint": False, "destructiveHint": True}
    return tool


def _unescape(plain: str) -> str:
    return plain.replace("__", ".")
