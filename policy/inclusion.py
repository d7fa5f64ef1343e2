"""
Does one schema accept everything that another accepts? Yes, no with a value that shows it, or cannot tell.

In come two schemas of the dialect; out comes an `Answer`. A yes is proved, a no is shown: its witness was put to both
validators. Exact where schemas are flat; elsewhere it may honestly not know. Source: DESIGN section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from gatewright.policy.definitions import hoist, with_definitions
from gatewright.policy.evidence import SchemaError
from gatewright.policy.model import Json, Schema
from gatewright.policy.proofs import Proof
from gatewright.policy.validator import compile_schema
from gatewright.policy.witnesses import NOTHING, Search

__all__ = ["CANNOT_TELL", "YES", "Answer", "CannotTell", "No", "Yes", "is_narrower"]


@dataclass(frozen=True, slots=True)
class Yes:
    """The first schema accepts nothing that the second refuses; proved."""


@dataclass(frozen=True, slots=True)
class No:
    """
    The first schema accepts something that the second refuses.

    *witness* is such a value: both validators were asked. *errors* is what the second says about it, so that
    `errors[0].path`, `.keyword` and `.expected` tell where and why.
    """

    witness: Json
    errors: tuple[SchemaError, ...]


@dataclass(frozen=True, slots=True)
class CannotTell:
    """Neither a proof nor a value was found. Whoever must be safe treats it as a no."""


Answer: TypeAlias = "Yes | No | CannotTell"

YES: Final = Yes()
CANNOT_TELL: Final = CannotTell()


def is_narrower(narrow: Schema, wide: Schema) -> Answer:
    """
    Answer whether *wide* accepts everything that *narrow* accepts; equal schemas are narrower than each other.

    Both are schemas of the dialect, as `check_schema` returns them. The meaning is the validator's: integers are
    strict, so a float such as 1.0 may be the witness that a number is not an integer.

    >>> is_narrower({"type": "integer", "maximum": 50}, {"type": "integer", "maximum": 200})
    Yes()
    >>> is_narrower({"type": "integer", "maximum": 200}, {"type": "integer", "maximum": 50}).witness
    51
    """
    definitions: dict[str, Json] = {}
    inner, outer = hoist(narrow, definitions), hoist(wide, definitions)
    if Proof(definitions).covers(outer, inner):
        return YES
    found = Search(definitions, outer, inner).find(outer, inner)
    if found is NOTHING:
        return CANNOT_TELL
    return _shown(narrow, with_definitions(outer, definitions), cast("Json", found))


def _shown(narrow: Schema, wide: Schema, witness: Json) -> Answer:
    """Return the no that *witness* shows, once both schemas as they were given have been asked about it."""
    refusing = compile_schema(wide)
    if compile_schema(narrow).accepts(witness) and not refusing.accepts(witness):
        return No(witness, refusing.errors(witness))
    return CANNOT_TELL
