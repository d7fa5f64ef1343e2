"""
What does one entry, with its limits, make of a call's arguments? Pins and defaults filled, errors by stage.

Cuts are the `arguments` maps of the entry (first) and its limits, identity and tenant already put in.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reference.references import Unfilled, as_pointer, at, fill, is_unfilled, places, tokens
from reference.schema import TEXTS, Error, Judge, is_same, resolve

BESIDE = (*TEXTS, "$granted", "$authority", "on_violation")

Cuts = list[Mapping[str, Any]]
IsGranted = Callable[[Mapping[str, str], Any], bool]


def is_hidden(cut: Any) -> bool:
    """Whether *cut* takes the argument away from the caller."""
    return cut == "hidden" or (isinstance(cut, dict) and "pin" in cut)


def narrows(cut: Any) -> bool:
    """Whether *cut* holds a keyword or a grant, which makes its argument required."""
    return isinstance(cut, dict) and "pin" not in cut and bool(set(cut) - {*TEXTS, "on_violation"})


def _each(cuts: Cuts) -> Iterator[tuple[tuple[str, ...], Any]]:
    return ((tokens(name), cut) for block in cuts for name, cut in block.items())


def unknown_names(base: Mapping[str, Any], cuts: Cuts, sent: Mapping[str, Any]) -> list[str]:
    """Pointers of what was sent and is hidden, pinned or not shown by the entry. Made-up names are the schema's."""
    shown = set(base.get("required", [])) | {tokens(name)[0] for name in cuts[0] if len(tokens(name)) == 1}
    found = [f"/{name}" for name in sent if name in base.get("properties", {}) and name not in shown]
    for pointer, cut in _each(cuts):
        if is_hidden(cut):
            found += [as_pointer(path) for path, present in places(pointer, sent) if present]
    return found


def fill_arguments(
    base: Mapping[str, Any], cuts: Cuts, sent: Mapping[str, Any], is_granted: IsGranted
) -> dict[str, Any]:
    """
    *sent* with pins and defaults in it.

    A default that does not pass its narrowing is left out where the argument is shown: it has become required.
    """
    filled: dict[str, Any] = copy.deepcopy(dict(sent))
    hidden = {pointer for pointer, cut in _each(cuts) if is_hidden(cut)}
    shown = set(base.get("required", [])) | {tokens(name)[0] for name in cuts[0] if len(tokens(name)) == 1}
    for name, schema in base.get("properties", {}).items():
        own = [cut["default"] for pointer, cut in _each(cuts) if pointer == (name,) and "default" in cut]
        if name not in filled and (own or "default" in schema):
            holder = {name: copy.deepcopy(own[0] if own else schema["default"])}
            _fill_inside(base, base, holder, cuts, hidden, is_granted)
            passes = not any(narrowing_errors(base, cuts, holder, is_granted, only=(name,)))
            if name not in shown or (name,) in hidden or passes:
                filled |= holder
    _fill_inside(base, base, filled, cuts, hidden, is_granted)
    for pointer, cut in _each(cuts):
        if isinstance(cut, dict) and "pin" in cut:
            for path, _ in list(places(pointer[:-1], filled)):
                _put(filled, path, pointer[-1], completed_pin(base, pointer, cut["pin"]))
    return filled


def completed_pin(base: Mapping[str, Any], pointer: tuple[str, ...], value: Any) -> Any:
    """A pinned value with the nested defaults of its schema."""
    out = copy.deepcopy(value)
    _fill_inside(schema_at(base, pointer), base, out, [{}], set(), lambda _wanted, _value: False, pointer)
    return out


def _put(filled: dict[str, Any], path: tuple[Any, ...], name: str, value: Any) -> None:
    """Pin below parents that are there; an absent parent is an error of the narrowing stage."""
    try:
        parent = at(path, filled)
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(parent, dict):
        parent[name] = copy.deepcopy(value)


def _fill_inside(
    schema: Any,
    root: Mapping[str, Any],
    value: Any,
    cuts: Cuts,
    hidden: set[tuple[str, ...]],
    is_granted: IsGranted,
    pointer: tuple[str, ...] = (),
) -> None:
    """Put nested defaults into the objects that are there, unless the narrowing refuses them."""
    if isinstance(schema, dict) and "$ref" in schema:
        schema = resolve(schema["$ref"], root)
    if isinstance(schema, dict) and isinstance(value, list):
        for item in value:
            _fill_inside(schema.get("items", {}), root, item, cuts, hidden, is_granted, (*pointer, "*"))
    elif isinstance(schema, dict) and isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            inner = (*pointer, name)
            fills = pointer and name not in value and isinstance(part, dict) and "default" in part
            if fills and (inner in hidden or default_passes(root, cuts, inner, is_granted)):
                value[name] = copy.deepcopy(part["default"])
            if name in value:
                _fill_inside(part, root, value[name], cuts, hidden, is_granted, inner)


def schema_at(base: Mapping[str, Any], pointer: tuple[str, ...]) -> Any:
    """The base schema's part at *pointer*, or an empty one."""
    schema: Any = base
    for token in pointer:
        while isinstance(schema, dict) and "$ref" in schema:
            schema = resolve(schema["$ref"], base)
        schema = schema.get("items" if token == "*" else "properties", {}) if isinstance(schema, dict) else {}
        schema = schema if token == "*" else schema.get(token, {})
    return schema


def default_passes(base: Mapping[str, Any], cuts: Cuts, pointer: tuple[str, ...], is_granted: IsGranted) -> bool:
    """Whether the base schema has a default at *pointer* that every narrowing of it accepts."""
    schema = schema_at(base, pointer)
    if not isinstance(schema, dict) or "default" not in schema:
        return False
    own = [cut for place, cut in _each(cuts) if place == pointer and narrows(cut)]
    alone: Cuts = [{"value": cut} for cut in own]
    return not any(narrowing_errors({}, alone, {"value": schema["default"]}, is_granted))


def schema_errors(base: Mapping[str, Any], filled: Mapping[str, Any]) -> list[Error]:
    """Stage (a) without hidden names: the base schema on the filled arguments, closed."""
    return list(Judge("base", base).errors(base, filled))


def narrowing_errors(
    base: Mapping[str, Any],
    cuts: Cuts,
    filled: Mapping[str, Any],
    is_granted: IsGranted,
    sources: Any = None,
    only: tuple[str, ...] = (),
) -> Iterator[Error]:
    """Stages (b) and (c): every cut's keywords at every place it means; absent is `required`, a pin must be there."""
    for pointer, cut in _each(cuts):
        if only not in ((), pointer[:1]):
            continue
        if isinstance(cut, dict) and "pin" in cut:
            yield from (Error(path, "required") for path, present in places(pointer, filled) if not present)
            yield from (
                Error(path, "pin")
                for path, present in places(pointer, filled)
                if present and not is_same(completed_pin(base, pointer, cut["pin"]), at(path, filled))
            )
        elif narrows(cut):
            is_optional = len(pointer) > 1 and default_passes(base, cuts, pointer, is_granted)
            for error in _cut_errors(pointer, cut, filled, is_granted, sources or {}):
                if not (is_optional and error.keyword == "absent"):
                    yield error


def _cut_errors(
    pointer: tuple[str, ...], cut: Mapping[str, Any], filled: Mapping[str, Any], is_granted: IsGranted, sources: Any
) -> Iterator[Error]:
    schema = {name: item for name, item in cut.items() if name not in BESIDE or name in ("$authority", "on_violation")}
    try:
        schema = fill(schema, sources)
    except Unfilled:
        schema = {"const": {"$argument": ""}}
    for path, present in places(pointer, filled):
        if not present:
            yield Error(path, "absent")
        elif is_unfilled(schema):
            yield Error(path, "reference", forbids=True)
        else:
            value = at(path, filled)
            if "$granted" in cut and not is_granted(cut["$granted"], value):
                yield Error(path, "$granted", authority=True)
            yield from Judge("narrow").errors(schema, value, path)
