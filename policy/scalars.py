"""
What do two schemas accept together of types, options, numbers and strings? The keywords that hold no schema.

In come two keyword maps; the conjunction is written into a third, and what has no flat form is left over. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from gatewright.policy.evidence import kind_of
from gatewright.policy.model import Json, Schema

__all__ = ["SCALARS", "accepts_flat", "kinds_of", "meet_kinds", "meet_options", "meet_scalars", "options_of"]

_LARGEST_EXACT: Final = 2**53
_CHOICES: Final[Mapping[str, Callable[..., Json]]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
    "uniqueItems": max,
}
_SAME_OR_BOTH: Final = ("pattern", "format", "multipleOf")
SCALARS: Final = frozenset({*_CHOICES, *_SAME_OR_BOTH})
"""What `meet_scalars` is for."""

_FLAT: Final = frozenset(
    {"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
)
_BOUNDS: Final = (
    ("minimum", -math.inf),
    ("maximum", math.inf),
    ("exclusiveMinimum", -math.inf),
    ("exclusiveMaximum", math.inf),
)
_NOTHING: Final = object()


def meet_scalars(first: Schema, second: Schema, out: dict[str, Json]) -> dict[str, Json]:
    """Write into *out* what both ask of numbers, lengths and strings; return the keywords of *second* left over."""
    for keyword in first:
        if keyword in SCALARS:
            out[keyword] = first[keyword]
    left: dict[str, Json] = {}
    for keyword, value in second.items():
        if keyword not in SCALARS:
            continue
        if keyword not in out:
            out[keyword] = value
        elif keyword in _CHOICES:
            out[keyword] = _CHOICES[keyword](cast("float", out[keyword]), cast("float", value))
        elif out[keyword] != value:
            left[keyword] = value
    _tighten(out, "minimum", "exclusiveMinimum", max)
    _tighten(out, "maximum", "exclusiveMaximum", min)
    if "multipleOf" in left and (step := _common_step(out["multipleOf"], left["multipleOf"])) is not None:
        out["multipleOf"] = step
        del left["multipleOf"]
    return left


def accepts_flat(schema: Schema, value: Json) -> bool | None:
    """
    Answer whether *value* satisfies *schema* where no validator is needed: a scalar and nothing but bounds; else None.

    Compiling costs more than this, and narrowing asks it of every default and option.
    """
    kind = kind_of(value)
    kinds = kinds_of(schema)
    if kind in ("array", "object") or not schema.keys() <= _FLAT:
        return None
    if kinds is not None and kind not in kinds and not (kind == "integer" and "number" in kinds):
        return False
    if isinstance(value, str):
        return cast("int", schema.get("minLength", 0)) <= len(value) <= cast("float", schema.get("maxLength", math.inf))
    if kind not in ("integer", "number"):
        return True
    number = cast("float", value)
    least, most = (cast("float", schema.get(word, default)) for word, default in _BOUNDS[:2])
    above, below = (cast("float", schema.get(word, default)) for word, default in _BOUNDS[2:])
    return least <= number <= most and above < number < below


def kinds_of(schema: Schema) -> tuple[str, ...] | None:
    """Return the types that *schema* names, or None where it names none."""
    kinds = schema.get("type")
    if kinds is None:
        return None
    return (kinds,) if isinstance(kinds, str) else tuple(cast("Sequence[str]", kinds))


def meet_kinds(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the types that both name; an integer is a number."""
    if first is None or second is None:
        return second if first is None else first
    if first == second and len(first) == 1:
        return first
    both = [kind for kind in first if kind in second or (kind == "integer" and "number" in second)]
    if "number" in first and "integer" in second and "integer" not in both and "number" not in both:
        both.append("integer")
    return tuple(both)


def options_of(schema: Schema) -> tuple[Json, ...] | None:
    """Return the members of `const` or `enum`, or None where *schema* has neither."""
    if "enum" not in schema:
        return (schema["const"],) if "const" in schema else None
    const = (schema["const"],) if "const" in schema else None
    enum = tuple(cast("Sequence[Json]", schema["enum"]))
    return meet_options(const, enum)


def meet_options(first: tuple[Json, ...] | None, second: tuple[Json, ...] | None) -> tuple[Json, ...] | None:
    """Return the members that both hold, in the order of *first*; of 1 and 1.0 the integer stays."""
    if first is None or second is None:
        return second if first is None else first
    if set(map(type, (*first, *second))) == {str}:
        wanted = frozenset(second)
        return tuple(member for member in first if member in wanted)
    index = {key: member for member in second if (key := _key(member)) is not None}
    nested = [member for member in second if _key(member) is None]
    both: list[Json] = []
    for member in first:
        key = _key(member)
        rivals = nested if key is None else [index[key]] if key in index else []
        found = [agreed for rival in rivals if (agreed := _agree(member, rival)) is not _NOTHING]
        both.extend(cast("list[Json]", found[:1]))
    return tuple(both)


def _key(member: Json) -> tuple[str, Json] | None:
    kind = kind_of(member)
    if kind in ("array", "object"):
        return None
    return ("number" if kind == "integer" else kind, member)


def _agree(first: object, second: object) -> object:
    """Return the member that exactly the values equal to both are equal to, or nothing."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first if first is second else _NOTHING
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if first.keys() != second.keys():
            return _NOTHING
        pairs = {name: _agree(first[name], second[name]) for name in first}
        return _NOTHING if any(item is _NOTHING for item in pairs.values()) else pairs
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        items = [_agree(*pair) for pair in zip(first, second, strict=False)]
        return _NOTHING if len(first) != len(second) or any(item is _NOTHING for item in items) else items
    if first != second:
        return _NOTHING
    return second if isinstance(first, float) else first


def _tighten(out: dict[str, Json], inclusive: str, exclusive: str, choose: object) -> None:
    """Drop the looser of an inclusive and an exclusive bound."""
    if inclusive in out and exclusive in out:
        bounds = cast("float", out[inclusive]), cast("float", out[exclusive])
        looser_inclusive = bounds[1] >= bounds[0] if choose is max else bounds[1] <= bounds[0]
        del out[inclusive if looser_inclusive else exclusive]


def _common_step(first: Json, second: Json) -> int | None:
    if isinstance(first, int) and isinstance(second, int):
        step = math.lcm(first, second)
        return step if step <= _LARGEST_EXACT else None
    return None
