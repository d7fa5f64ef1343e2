"""Random schemas of our own dialect, and random JSON values near them."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "c")
TEXTS = ("", "a", "ab", "abc", "b", "1", "2026-01-31", "ab\n")
NUMBERS = (-2, -1, 0, 1, 2, 3, 4, 6, 12, 0.5, 1.5, -1.5, 0.0, 1.0, 2.0, 6.0, 1e300, 2**53, 2**60)
PATTERNS = ("^a", "b$", "^[a-c]*$", "^.$", "[0-9]")

SCALARS = (None, True, False, *NUMBERS, *TEXTS)
scalars = st.sampled_from(SCALARS)


def corpus(size: int, seed: int) -> list[Any]:
    """Values of every kind, the same ones for a seed: what is asked of each random schema."""
    random = Random(seed)

    def value(depth: int) -> Any:
        kind = random.choice(("scalar", "scalar", "array", "object") if depth else ("scalar",))
        if kind == "scalar":
            return random.choice(SCALARS)
        items = [value(depth - 1) for _ in range(random.randint(0, 3))]
        return items if kind == "array" else dict(zip(random.sample((*NAMES, "d"), len(items)), items, strict=True))

    return [*SCALARS, *(value(3) for _ in range(size - len(SCALARS)))]


_counts = st.integers(0, 3)
_bounds = st.sampled_from((-1, 0, 1, 2, 3, 1.5, 2.0))
_members = st.one_of(
    scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from(NAMES), scalars, max_size=1)
)


def _number() -> st.SearchStrategy[dict[str, Any]]:
    return _some(
        type=st.sampled_from(("integer", "number", ["integer", "null"], ["number", "string"])),
        minimum=_bounds,
        maximum=_bounds,
        exclusiveMinimum=_bounds,
        exclusiveMaximum=_bounds,
        multipleOf=st.sampled_from((1, 2, 3, 4, 6, 0.5, 1.5)),
        default=st.sampled_from(NUMBERS),
    )


def _string() -> st.SearchStrategy[dict[str, Any]]:
    return _some(
        type=st.sampled_from(("string", ["string", "null"])),
        minLength=_counts,
        maxLength=_counts,
        pattern=st.sampled_from(PATTERNS),
        format=st.sampled_from(("date", "uuid")),
        examples=st.lists(st.sampled_from(TEXTS), max_size=2),
    )


def _array(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _some(
        type=st.sampled_from(("array", ["array", "string"])),
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        minItems=_counts,
        maxItems=_counts,
        uniqueItems=st.booleans(),
        contains=inner,
        minContains=_counts,
        maxContains=_counts,
    )


def _object(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.lists(st.sampled_from(NAMES), unique=True, max_size=2)
    return _some(
        type=st.sampled_from(("object", ["object", "null"])),
        properties=st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        patternProperties=st.dictionaries(st.sampled_from(PATTERNS), inner, min_size=1, max_size=2),
        additionalProperties=st.one_of(st.just(False), inner),
        required=names,
        minProperties=_counts,
        maxProperties=_counts,
        propertyNames=_string(),
        dependentRequired=st.dictionaries(st.sampled_from(NAMES), names, max_size=2),
        dependentSchemas=st.dictionaries(st.sampled_from(NAMES), inner, max_size=1),
        unevaluatedProperties=st.just(False),
    )


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return _some(
        anyOf=several, oneOf=several, allOf=several, **{"not": inner, "if": inner, "then": inner, "else": inner}
    )


def _options() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.lists(_members, min_size=1, max_size=4).map(lambda members: {"enum": members}),
        _members.map(lambda member: {"const": member}),
    )


def _some(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A few of the keywords, so that most schemas can be satisfied."""
    subsets = st.lists(st.sampled_from(sorted(keywords)), unique=True, max_size=4)
    return subsets.flatmap(lambda chosen: st.fixed_dictionaries({name: keywords[name] for name in chosen}))


_REFERENCES = st.sampled_from(("#/$defs/P", "#/$defs/Q")).map(lambda target: {"$ref": target})
_leaves = st.one_of(st.booleans(), _number(), _string(), _options(), _REFERENCES)


def _mixed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        _object(inner),
        _array(inner),
        _composed(inner),
        st.tuples(_object(inner), _composed(inner)).map(lambda pair: {**pair[0], **pair[1]}),
        st.tuples(_number(), _options()).map(lambda pair: {**pair[0], **pair[1]}),
    )


bodies: st.SearchStrategy[Any] = st.recursive(_leaves, _mixed, max_leaves=8)
_plain = st.one_of(_number(), _string(), _options())


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A whole schema; its definitions P and Q are recursive or plain, and both always exist."""
    body = draw(bodies.filter(lambda body: isinstance(body, dict)))
    recursive = {"type": ["object", "integer"], "properties": {"a": {"$ref": "#/$defs/P"}, "b": {"$ref": "#/$defs/Q"}}}
    return {**body, "$defs": {"P": draw(st.one_of(_plain, st.just(recursive))), "Q": draw(_plain)}}


@st.composite
def role_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A closed object schema, as a tool has."""
    properties = draw(st.dictionaries(st.sampled_from(NAMES), bodies, min_size=1, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True, max_size=2))
    whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {**whole, "$defs": {"P": draw(_plain), "Q": draw(_plain)}}
