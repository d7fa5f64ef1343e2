"""
What does an entry or limit do to each argument? The `arguments` block: hidden, pinned, shown or narrowed.

In comes a node; out come `ArgumentCut`s by pointer, with findings for arguments that the base schema does not have and
values that it does not take.
"""

from __future__ import annotations

from typing import Final, cast

from gatewright.policy.clauses import check_clause, check_data
from gatewright.policy.declared import BEFORE_RECORDS, Declared
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.knowledge import Known
from gatewright.policy.model import Json, Pointer
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.references import EARLY
from gatewright.policy.toolfile import ArgumentCut

__all__ = ["read_arguments"]

_TEXTS: Final = ("description", "examples", "default")
_BESIDE: Final = ("$granted", "on_violation", *_TEXTS)


def read_arguments(node: Node | None, declared: Declared, reader: Reader, *, shows: bool) -> dict[Pointer, ArgumentCut]:
    """Return the cuts of an `arguments` block; *shows* says whether it is an entry's, which can show an argument."""
    if node is None:
        return {}
    base = declared.known("argument")
    found: dict[Pointer, ArgumentCut] = {}
    for name, value in reader.mapping(node, None, "map of arguments").items():
        pointer = parse_pointer(name)
        known = base.along(pointer) if pointer else None
        if known is None:
            reader.unknown(node.keys[name], base.code, name, list(base.names()), base.what)
            continue
        if pointer in found:
            reader.findings.add(node.keys[name], "repeated", f"{name!r} is cut here twice")
        if value.value == {} and not shows:
            hint = "a limit never shows an argument; name it in an entry"
            reader.findings.warn(node.keys[name], "shows_nothing", f"this does nothing to {name!r}", hint)
        found[pointer] = _cut(value, known, declared, reader)
    return found


def _cut(node: Node, known: Known, declared: Declared, reader: Reader) -> ArgumentCut:
    if isinstance(node.value, str):
        reader.choice(node, ("hidden",), "cut of an argument")
        return ArgumentCut("hidden", place=node.place)
    parts = reader.mapping(node, None, "cut of an argument")
    return _pin(node, known, declared, reader) if "pin" in parts else _narrowing(node, parts, known, declared, reader)


def _pin(node: Node, known: Known, declared: Declared, reader: Reader) -> ArgumentCut:
    pin = reader.mapping(node, ("pin",), "pin")["pin"]
    if not check_data(pin, known, declared.target(EARLY), reader):
        _check_taken(pin, known, reader)
    return ArgumentCut("pin", value=pin.plain(), place=node.place)


def _narrowing(node: Node, parts: dict[str, Node], known: Known, declared: Declared, reader: Reader) -> ArgumentCut:
    check_clause(node, known, declared.target(BEFORE_RECORDS), reader, _BESIDE)
    if "on_violation" in parts:
        reader.choice(parts["on_violation"], ("forbidden",), "on_violation")
    if "description" in parts:
        reader.text(parts["description"], "description")
    for sample in [*reader.items(parts.get("examples"), "list of examples"), *_present(parts.get("default"))]:
        _check_taken(sample, known, reader)
    plain = cast("dict[str, Json]", node.plain()) if isinstance(node.value, dict) else {}
    return ArgumentCut(
        "narrow",
        schema={name: value for name, value in plain.items() if name not in _BESIDE},
        granted=_granted(parts.get("$granted"), known, declared, reader),
        forbidden="on_violation" in parts,
        texts={name: plain[name] for name in _TEXTS if name in plain},
        place=node.place,
    )


def _present(node: Node | None) -> list[Node]:
    return [] if node is None else [node]


def _check_taken(node: Node, known: Known, reader: Reader) -> None:
    if not known.takes(node.plain()):
        reader.findings.add(node.place, "refused_value", "the base schema does not take this value")


def _granted(node: Node | None, known: Known, declared: Declared, reader: Reader) -> tuple[str, str] | None:
    if node is None:
        return None
    parts = reader.mapping(node, ("type", "action"), "$granted", ("type", "action"))
    types = declared.names.types
    kind = reader.choice(parts.get("type"), types, "resource type")
    action = reader.choice(parts.get("action"), types.get(kind, ()), "action") if kind else ""
    if known.kinds() and "string" not in known.kinds():
        reader.findings.add(node.place, "wrong_type", "an id is a string, and this argument is none")
    return (kind, action) if kind and action else None
