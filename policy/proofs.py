"""
Is it certain that one schema accepts nothing that another refuses? The proof half of `inclusion`.

In come two schemas over one table of definitions; out comes True only where it is certain: what is not proved may still
hold. A claim about references may rest on itself, since every circle of references takes a step into the value, and
values are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

from gatewright.policy.definitions import Definitions, alike, as_text, pointed_at, with_definitions
from gatewright.policy.emptiness import Emptiness, effective, last_place, place, spellings
from gatewright.policy.flattening import flatten
from gatewright.policy.meeting import Meeting
from gatewright.policy.model import Json, Schema
from gatewright.policy.ranges import numbers_of, sizes_of
from gatewright.policy.scalars import kinds_of, options_of
from gatewright.policy.strictness import holds_integral_float
from gatewright.policy.validator import compile_schema

__all__ = ["Proof"]

_MOST_STEPS: Final = 5000
_MOST_CASES: Final = 64
_MOST_LISTED: Final = 64
_KINDS: Final = ("null", "boolean", "number", "string", "array", "object")
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
_OBJECT: Final = ("properties", "patternProperties", "additionalProperties")
_ARRAY: Final = ("items", "prefixItems")
_CONTAINS: Final = ("contains", "minContains", "maxContains")
_CONDITIONAL: Final = ("if", "then", "else")


_Check: TypeAlias = "Callable[[Schema, Schema], bool]"
"""(what is asked, a flat schema of one type) → whether certainly all that the second accepts satisfies the first."""


class Proof:
    """One attempt over *definitions*, bounded in steps."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self._meeting = Meeting(definitions)
        self._empty = Emptiness(definitions)
        self._assumed: set[tuple[str, str]] = set()
        self._steps = _MOST_STEPS

    def covers(self, wide: Json, narrow: Json) -> bool:
        """Whether *wide* certainly accepts all that *narrow* accepts."""
        self._steps -= 1
        if wide is True or wide == {} or narrow is False or alike(wide, narrow):
            return True
        if self._steps < 0:
            return False
        claim = (as_text(wide), as_text(narrow))
        if claim in self._assumed:
            return True
        self._assumed.add(claim)
        try:
            return self._covers(wide, narrow)
        finally:
            self._assumed.discard(claim)

    def _covers(self, wide: Json, narrow: Json) -> bool:
        if any(alike(wide, implied) for implied in self._implied(narrow)) or self._empty.is_empty(narrow):
            return True
        if not isinstance(wide, Mapping) or any(word in wide for word in _UNEVALUATED):
            return False
        rest = {word: value for word, value in wide.items() if word not in ("allOf", "$ref")}
        conjuncts = list(cast("Sequence[Json]", wide.get("allOf", ())))
        if "$ref" in wide:
            conjuncts.append(self.definitions[pointed_at(wide["$ref"])])
        if conjuncts:
            return all(self.covers(conjunct, narrow) for conjunct in (*conjuncts, rest))
        cases = flatten(narrow, self.definitions, _MOST_CASES)
        return cases is not None and all(self._covers_case(wide, case) for case in cases)

    def _implied(self, schema: Json) -> Iterator[Json]:
        """Yield the schemas that hold wherever *schema* does because it says so, itself first."""
        yield schema
        if isinstance(schema, Mapping):
            for conjunct in cast("Sequence[Json]", schema.get("allOf", ())):
                yield from self._implied(conjunct)
            if "$ref" in schema:
                yield from self._implied(self.definitions[pointed_at(schema["$ref"])])

    def _covers_case(self, wide: Schema, case: Schema) -> bool:
        options = options_of(case)
        if options is not None:
            return self._accepts_all(wide, options, case)
        if "anyOf" in wide and any(self.covers(branch, case) for branch in cast("Sequence[Json]", wide["anyOf"])):
            wide = {word: value for word, value in wide.items() if word != "anyOf"}
        return all(self._covers_kind(wide, case, kind) for kind in kinds_of(case) or _KINDS)

    def _accepts_all(self, wide: Schema, options: Sequence[Json], case: Schema) -> bool:
        """Whether *wide* accepts each of *options*; one such as 1.0 stands for the integer too."""
        accepts = compile_schema(with_definitions(wide, self.definitions)).accepts
        taken = compile_schema(with_definitions(case, self.definitions)).accepts
        for option in options:
            if not isinstance(option, float) and holds_integral_float(option):
                return False
            if any(taken(each) and not accepts(each) for each in spellings(option)):
                return False
        return True

    def _covers_kind(self, wide: Schema, case: Schema, kind: str) -> bool:
        """Whether *wide* accepts every value of *kind* that *case* accepts, a flat schema beside its conjuncts."""
        conjuncts = [part for part in cast("Sequence[Json]", case.get("allOf", ())) if isinstance(part, Mapping)]
        sides: list[Schema] = [{**side, "type": kind} for side in (case, *conjuncts)]
        if self._empty.is_empty(sides[0]):
            return True
        domain = "number" if kind == "integer" else kind
        for words, check in self._parts(domain):
            part = {word: wide[word] for word in words if word in wide}
            if part and not any(check(part, side) for side in sides):
                return False
        return True

    def _parts(self, domain: str) -> Iterator[tuple[Sequence[str], _Check]]:
        """Yield the groups of keywords that ask something of values of *domain*, each with what proves it."""
        yield ("type",), self._kind
        yield ("enum", "const"), self._options
        yield ("anyOf",), self._any
        yield ("oneOf",), self._one
        yield ("not",), self._not
        yield _CONDITIONAL, self._conditional
        if domain == "number":
            yield ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), self._numbers
            yield ("multipleOf",), self._multiple
        elif domain == "string":
            yield ("minLength", "maxLength"), self._sizes
            yield ("pattern",), _holds
            yield ("format",), _holds
        elif domain == "array":
            yield ("minItems", "maxItems"), self._sizes
            yield _ARRAY, self._elements
            yield _CONTAINS, self._contains
            yield ("uniqueItems",), self._unique
        elif domain == "object":
            yield ("minProperties", "maxProperties"), self._sizes
            yield _OBJECT, self._members
            yield ("required",), self._required
            yield ("propertyNames",), self._member_names
            yield ("dependentRequired",), self._dependent
            yield ("dependentSchemas",), _holds

    def _kind(self, part: Schema, side: Schema) -> bool:
        kind, kinds = side["type"], kinds_of(part) or ()
        return kind in kinds or (kind == "integer" and "number" in kinds)

    def _options(self, part: Schema, side: Schema) -> bool:
        kind = str(side["type"])
        listed: Sequence[Json] | None = {"null": (None,), "boolean": (False, True)}.get(kind)
        if kind == "integer":
            listed = numbers_of(side, whole=True).listed(_MOST_LISTED)
        if kind == "string" and side.get("maxLength") == 0:
            listed = ("",)
        return listed is not None and self._accepts_all(part, listed, side)

    def _any(self, part: Schema, side: Schema) -> bool:
        return any(self.covers(branch, side) for branch in cast("Sequence[Json]", part["anyOf"]))

    def _one(self, part: Schema, side: Schema) -> bool:
        branches = cast("Sequence[Json]", part["oneOf"])
        apart = [branch for branch in branches if self._empty.is_empty(self._meeting.meet(side, branch))]
        others = [branch for branch in branches if not any(branch is each for each in apart)]
        return len(others) == 1 and self.covers(others[0], side)

    def _not(self, part: Schema, side: Schema) -> bool:
        return self._empty.is_empty(self._meeting.meet(side, part["not"]))

    def _conditional(self, part: Schema, side: Schema) -> bool:
        return all(self.covers(part.get(word, True), side) for word in ("then", "else")) or _holds(part, side)

    def _numbers(self, part: Schema, side: Schema) -> bool:
        whole = side["type"] == "integer"
        return numbers_of(side, whole=whole).within(numbers_of(part, whole=whole))

    def _multiple(self, part: Schema, side: Schema) -> bool:
        is_whole = side["type"] == "integer"
        wanted, given = part["multipleOf"], side.get("multipleOf", 1 if is_whole else None)
        if isinstance(wanted, int) and isinstance(given, int) and is_whole:
            return given % wanted == 0
        return wanted == given

    def _sizes(self, part: Schema, side: Schema) -> bool:
        return self._empty.sizes(side, kind := str(side["type"])).within(sizes_of(part, kind))

    def _unique(self, part: Schema, side: Schema) -> bool:
        return part["uniqueItems"] is False or side.get("uniqueItems") is True or last_place(side, self._empty) <= 1

    def _elements(self, part: Schema, side: Schema) -> bool:
        count = max(len(cast("Sequence[Json]", each.get("prefixItems", ()))) for each in (part, side))
        last = last_place(side, self._empty)
        return all(self.covers(place(part, at), place(side, at)) for at in range(count + 1) if at < last)

    def _contains(self, part: Schema, side: Schema) -> bool:
        if "contains" not in part or _holds(part, side):
            return True
        if cast("float", part.get("maxContains", last_place(side, self._empty))) < last_place(side, self._empty):
            return False
        least = cast("int", part.get("minContains", 1))
        count = len(cast("Sequence[Json]", side.get("prefixItems", ())))
        if "contains" in side and cast("int", side.get("minContains", 1)) >= least:
            return self.covers(part["contains"], side["contains"])
        enough = cast("int", side.get("minItems", 0)) >= least
        return least == 0 or (enough and all(self.covers(part["contains"], place(side, at)) for at in range(count + 1)))

    def _members(self, part: Schema, side: Schema) -> bool:
        named = {*_named(part, "properties"), *_named(side, "properties")}
        return all(
            self.covers(wanted, self._met(effective(side, name))) for name in named for wanted in effective(part, name)
        ) and self._other_members(part, side)

    def _other_members(self, part: Schema, side: Schema) -> bool:
        """Whether members of any other name pass: whatever *side* lets them be, *part* takes, pattern by pattern."""
        ours, theirs = _named(side, "patternProperties"), _named(part, "patternProperties")
        open_end, rest = side.get("additionalProperties", True), part.get("additionalProperties", True)
        for pattern, wanted in theirs.items():
            given = [ours[pattern]] if pattern in ours else [*ours.values(), open_end]
            if not all(self.covers(wanted, each) for each in given):
                return False
        return all(self.covers(rest, each) for pattern, each in ours.items() if pattern not in theirs) and self.covers(
            rest, open_end
        )

    def _met(self, schemas: Sequence[Json]) -> Json:
        whole: Json = True
        for schema in schemas:
            whole = self._meeting.meet(whole, schema)
        return whole

    def _required(self, part: Schema, side: Schema) -> bool:
        return set(_listed(part, "required")) <= set(_listed(side, "required"))

    def _member_names(self, part: Schema, side: Schema) -> bool:
        if "propertyNames" in side and self.covers(part["propertyNames"], side["propertyNames"]):
            return True
        if not self._empty.is_closed(side):
            return False
        accepts = compile_schema(with_definitions({"allOf": [part["propertyNames"]]}, self.definitions)).accepts
        return all(map(accepts, self._empty.possible(side)))

    def _dependent(self, part: Schema, side: Schema) -> bool:
        wanted, given = _named(part, "dependentRequired"), _named(side, "dependentRequired")
        required = set(_listed(side, "required"))
        return all(
            {*cast("Sequence[str]", names)} <= required | {*cast("Sequence[str]", given.get(name, ()))}
            or self._empty.is_empty(self._met(effective(side, name)))
            for name, names in wanted.items()
        )


def _holds(part: Schema, side: Schema) -> bool:
    """Whether *side* asks the same in the same words."""
    return all(word in side and alike(side[word], value) for word, value in part.items())


def _named(schema: Schema, keyword: str) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", schema.get(keyword, {}))


def _listed(schema: Schema, keyword: str) -> Sequence[str]:
    return cast("Sequence[str]", schema.get(keyword, ()))
