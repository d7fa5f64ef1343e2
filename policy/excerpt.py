"""
What does an entry let out of a result? The `result` block: only_if, keep, show or hidden, mask, rows.

In comes a node; out come `ResultCuts`, with findings for fields that the published result does not have.
"""

from __future__ import annotations

from typing import Final

from gatewright.policy.declared import Declared, read_conditions
from gatewright.policy.errors import Place
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.knowledge import Known
from gatewright.policy.masks import MASKS
from gatewright.policy.model import Conditions, Pointer
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.toolfile import ResultCuts

__all__ = ["read_excerpt"]

_KEYS: Final = ("only_if", "keep", "show", "hidden", "mask", "rows")


def read_excerpt(node: Node | None, declared: Declared, reader: Reader) -> ResultCuts:
    """Return the cuts of *node*; None cuts nothing."""
    if node is None:
        return ResultCuts()
    parts = reader.mapping(node, _KEYS, "result")
    _check_parts(node, parts, declared, reader)
    known = declared.known("result")
    return ResultCuts(
        only_if=read_conditions(parts.get("only_if"), known, declared, reader),
        keep=_keep(parts.get("keep"), known, declared, reader),
        show=_pointers(parts["show"], known, reader) if "show" in parts else None,
        hidden=_pointers(parts.get("hidden"), known, reader),
        mask=_masks(parts.get("mask"), known, reader),
        rows=reader.count(parts.get("rows"), "rows", 1),
    )


def _check_parts(node: Node, parts: dict[str, Node], declared: Declared, reader: Reader) -> None:
    tool = declared.tool
    if {"show", "hidden"} <= set(parts):
        place = parts["show"].place
        reader.findings.add(place, "show_and_hidden", "a result is cut by show or by hidden, not by both")
    if "only_if" in parts and tool is not None and tool.kind == "write":
        reader.findings.add(parts["only_if"].place, "only_if_of_write", "only_if is for reads: a write has happened")
    if set(parts) - {"rows"} and tool is not None and tool.result is None:
        message = f"the catalog states no result of {tool.name!r}, so none of its fields is known"
        reader.findings.add(node.place, "no_result_schema", message, "annotate the result, or give result=")


def _pointers(node: Node | None, known: Known, reader: Reader) -> tuple[Pointer, ...]:
    named = reader.placed_names(node, None, "", "pointer")
    return tuple(_pointer(name, place, known, reader) for name, place in named)


def _pointer(name: str, place: Place, known: Known, reader: Reader) -> Pointer:
    pointer = parse_pointer(name)
    if known.along(pointer) is None:
        reader.unknown(place, known.code, name, [f"/{each}" for each in known.names()], known.what)
    return pointer


def _masks(node: Node | None, known: Known, reader: Reader) -> dict[Pointer, str]:
    found = {}
    for name, value in reader.mapping(node, None, "map of masks").items():
        place = node.keys[name] if node is not None else value.place
        found[_pointer(name, place, known, reader)] = reader.choice(value, MASKS, "mask")
    return found


def _keep(node: Node | None, known: Known, declared: Declared, reader: Reader) -> dict[Pointer, Conditions]:
    found = {}
    for name, value in reader.mapping(node, None, "map of arrays").items():
        place = node.keys[name] if node is not None else value.place
        pointer = _pointer(name, place, known, reader)
        array = known.along(pointer)
        if array is not None and array.kinds() and "array" not in array.kinds():
            reader.findings.add(place, "no_array", f"{name!r} is no array")
        elements = array.at("*") if array is not None else known
        found[pointer] = read_conditions(value, elements, declared, reader)
    return found
