"""
What is one entry of a tool file for one caller? The entry and its limits with references filled, compiled to be asked.

In come a tool, an entry, the limits that apply and a caller's claims; out comes an `OpenEntry`, or None where a
reference closes it. Decides nothing about any arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from gatewright.policy.conditions import ConditionSet
from gatewright.policy.dialect import SchemaValidator, compile_schema
from gatewright.policy.filling import Filling, schema_defaults
from gatewright.policy.model import Conditions, Json, Pointer, Schema, ToolSpec
from gatewright.policy.narrowing import narrow
from gatewright.policy.overlay import Grants, Late, Overlays, lay_over, unfold
from gatewright.policy.parts import Part, compile_part, fill_cuts, merge_duties
from gatewright.policy.placing import ask_at
from gatewright.policy.pruning import adjust, optional_names, prune
from gatewright.policy.references import EARLY, Lookup, Unfilled, substitute
from gatewright.policy.toolfile import ArgumentCut, Duties, Entry, Limit, ResultCuts

__all__ = [
    "REASON",
    "ArgumentTemplate",
    "Conditional",
    "OpenEntry",
    "open_entry",
    "with_reason",
]

REASON = "_reason"
"""The argument that a reason duty adds; it is cut off before the base schema sees it."""


class ArgumentTemplate:
    """
    The argument schemas of one entry (or of one conditional limit) for one caller; validators are compiled when asked.

    *visible* is the base schema of the visible names alone, *shown* the role schema: *visible* under *overlaid*.
    *hidden* narrows names that are not shown: pins and hidden defaults, which are judged on the filled value.
    """

    def __init__(
        self, base: Schema, visible: Schema, overlays: Overlays, hidden: Overlays, grants: tuple[Schema, ...]
    ) -> None:
        self.base = base
        self.visible = visible
        self.overlays = overlays
        self.hidden = hidden
        self.overlaid: tuple[Schema, ...] = (*overlays.all(), *grants)
        self.late: tuple[Late, ...] = overlays.late + hidden.late
        self.shown: Schema = _narrowed(visible, self.overlaid)

    @property
    def granted(self) -> tuple[tuple[Pointer, str, str], ...]:
        """Every (pointer, type, action) that `$granted` stands at."""
        return self.overlays.granted + self.hidden.granted

    @cached_property
    def accepts_shown(self) -> SchemaValidator:
        """The validator of the role schema."""
        return compile_schema(self.shown)

    @cached_property
    def accepts_visible(self) -> SchemaValidator:
        """Stage (a): the base schema and the known names."""
        return compile_schema(self.visible)

    @cached_property
    def accepts_filled(self) -> SchemaValidator:
        """The base schema and every narrowing, over the filled value."""
        return compile_schema(_narrowed(self.base, (*self.overlays.all(), *self.hidden.all())))

    @cached_property
    def accepts_base(self) -> SchemaValidator:
        """The base schema over the filled value: pins and hidden defaults included."""
        return compile_schema(self.base)

    @cached_property
    def authority(self) -> tuple[SchemaValidator, ...]:
        """Stage (b), without `$granted`."""
        return _compiled(self.overlays.authority, self.hidden.authority)

    @cached_property
    def narrowing(self) -> tuple[SchemaValidator, ...]:
        """Stage (c), answered as invalid arguments."""
        return _compiled(self.overlays.narrowing, self.hidden.narrowing)

    @cached_property
    def forbidding(self) -> tuple[SchemaValidator, ...]:
        """Stage (c), answered as forbidden."""
        return _compiled(self.overlays.forbidding, self.hidden.forbidding)


@dataclass(frozen=True, slots=True)
class Conditional:
    """A limit with `unless`: off only where every condition of it provably holds."""

    part: Part
    facts: ConditionSet
    context: ConditionSet
    resolvable: bool
    arguments: ArgumentTemplate | None


@dataclass(frozen=True, slots=True)
class OpenEntry:
    """
    One open entry for one caller.

    *roles* opened it; resources and `$granted` are asked for them. *fixed* says that the filled value holds names that
    are not shown, so it is judged beside what was sent. *may_reason* says that `_reason` may be sent.
    """

    id: str
    roles: frozenset[str]
    arguments: ArgumentTemplate
    filling: Filling
    fixed: bool
    parts: tuple[Part, ...]
    conditional: tuple[Conditional, ...]
    may_reason: bool
    duties: Duties
    cuts: ResultCuts
    refusal: str | None


def open_entry(
    spec: ToolSpec, entry: Entry, roles: frozenset[str], limits: Sequence[Limit], lookup: Lookup, grants: Grants
) -> OpenEntry:
    """
    Compile *entry* and *limits* for one caller.

    *lookup* fills `$identity` and `$tenant`, *grants* says what Casbin grants the roles that opened the entry.

    Raises:
        Unfilled: an early reference has no value or nothing is granted, which closes the entry.
    """
    fixed_limits = [limit for limit in limits if limit.unless is None]
    sources: list[Entry | Limit] = [entry, *fixed_limits]
    cuts = list(unfold(item for source in sources for item in source.arguments.items()))
    pins = {pointer: substitute(cut.value, lookup, EARLY, "const") for pointer, cut in cuts if cut.how == "pin"}
    texts = {pointer: cut.texts for pointer, cut in reversed(cuts) if cut.texts}
    gone = _gone(spec.schema, entry, cuts)
    base = _with_texts(spec.schema, texts)
    visible = base
    for pointer in gone:
        visible = prune(visible, pointer)
    parts = tuple(compile_part(spec.name, source, lookup) for source in sources)
    duties = merge_duties(part.duties for part in parts)
    build = _Builder(base, visible, gone, lookup, grants)
    arguments = build.template(cuts)
    conditional = tuple(build.conditional(spec.name, limit) for limit in limits if limit.unless is not None)
    may_reason = duties.reason or any(each.part.duties.reason for each in conditional)
    if may_reason:
        arguments.shown = with_reason(arguments.shown, required=duties.reason)
    defaults = {
        pointer: value for pointer, value in schema_defaults(base, base) if pointer not in arguments.overlays.refused
    }
    return OpenEntry(
        id=entry.id,
        roles=roles,
        arguments=arguments,
        filling=Filling(pins, defaults),
        fixed=bool(pins or arguments.hidden.all() or arguments.hidden.granted)
        or any(_inside(pointer, gone) for pointer in defaults),
        parts=parts,
        conditional=conditional,
        may_reason=may_reason,
        duties=duties,
        cuts=fill_cuts(entry.result, lookup),
        refusal=entry.refusal,
    )


@dataclass(frozen=True, slots=True)
class _Builder:
    """What every template of one entry is built from."""

    base: Schema
    visible: Schema
    gone: frozenset[Pointer]
    lookup: Lookup
    grants: Grants

    def template(self, cuts: Sequence[tuple[Pointer, ArgumentCut]], *, may_be_off: bool = False) -> ArgumentTemplate:
        gone = [bool(self.gone) and _inside(_where(*cut), self.gone) for cut in cuts]
        seen, unseen = ([cut for cut, is_gone in zip(cuts, gone, strict=True) if is_gone is x] for x in (False, True))
        overlays = lay_over(self.visible, seen, self.lookup, self.grants)
        hidden = lay_over(self.base, unseen, self.lookup, self.grants)
        shown = {pointer: self._granted(kind, action, may_be_off) for pointer, kind, action in overlays.granted}
        for _, kind, action in hidden.granted:
            self._granted(kind, action, may_be_off)
        grants = tuple(ask_at(self.visible, pointer, schema) for pointer, schema in shown.items())
        return ArgumentTemplate(self.base, self.visible, overlays, hidden, grants)

    def _granted(self, kind: str, action: str, may_be_off: bool) -> Schema:
        """What is granted, as a schema; that nothing is closes the entry, unless the limit that asks may be off."""
        try:
            return self.grants.show(kind, action)
        except Unfilled:
            if may_be_off:
                return {"type": "string"}
            raise

    def conditional(self, tool: str, limit: Limit) -> Conditional:
        unless = limit.unless or {}
        return Conditional(
            part=compile_part(tool, limit, self.lookup),
            facts=ConditionSet(cast("Conditions", unless.get("facts", {}))),
            context=ConditionSet(cast("Conditions", unless.get("context", {}))),
            resolvable=bool(unless) and not set(unless) - {"facts", "context"},
            arguments=self.template(list(unfold(limit.arguments.items())), may_be_off=True)
            if limit.arguments
            else None,
        )


def _gone(base: Schema, entry: Entry, cuts: list[tuple[Pointer, ArgumentCut]]) -> frozenset[Pointer]:
    """The pointers that are not shown: hidden, pinned, or optional at the top and not named by the entry."""
    gone = {pointer for pointer, cut in cuts if cut.how in ("hidden", "pin")}
    gone.update((name,) for name in optional_names(base, base) if (name,) not in entry.arguments)
    return frozenset(gone)


def _where(pointer: Pointer, cut: ArgumentCut) -> Pointer:
    """The place whose presence a cut is about: a pin's parent, since the pin itself is never sent."""
    return pointer[:-1] if cut.how == "pin" and len(pointer) > 1 else pointer


def _inside(pointer: Pointer, places: frozenset[Pointer]) -> bool:
    return bool(places) and any(pointer[:length] in places for length in range(1, len(pointer) + 1))


def _narrowed(schema: Schema, overlays: Iterable[Schema]) -> Schema:
    for overlay in overlays:
        schema = narrow(schema, overlay)
    return schema


def _compiled(*schemas: Schema | None) -> tuple[SchemaValidator, ...]:
    return tuple(compile_schema(schema) for schema in schemas if schema is not None)


def _with_texts(schema: Schema, texts: Mapping[Pointer, Mapping[str, Json]]) -> Schema:
    for pointer, text in texts.items():
        schema = adjust(schema, pointer, lambda place, text=text: {**place, **text}, schema)  # type: ignore[misc]
    return schema


def with_reason(schema: Schema, *, required: bool) -> Schema:
    """Return *schema* with the argument `_reason` added."""
    reason: dict[str, Json] = {"type": "string", "minLength": 1, "description": "Why this call is needed, in words."}
    properties = {**cast("Mapping[str, Json]", schema.get("properties", {})), REASON: reason}
    required_names = [*cast("list[str]", schema.get("required", [])), *([REASON] if required else [])]
    return {**schema, "properties": properties, "required": [*dict.fromkeys(required_names)]}
