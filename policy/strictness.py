"""
What is an integer, and what equals one? The strict rule that JSON Schema itself does not make.

A float with an integral value (20.0, 1e2) is a number but never an integer, nor equal to an integer in `enum` or
`const`; a boolean is neither. In come keyword values; out come keyword classes for jsonschema-rs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gatewright.policy.evidence import kind_of

if TYPE_CHECKING:
    from jsonschema_rs import KeywordValidator

__all__ = ["STRICT", "holds_integral_float", "same"]


def holds_integral_float(value: object) -> bool:
    """Answer whether a float with an integral value is anywhere in *value*."""
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, dict):
        return any(map(holds_integral_float, value.values()))
    if isinstance(value, list | tuple):
        return any(map(holds_integral_float, value))
    return isinstance(value, Mapping) and any(map(holds_integral_float, value.values()))


def same(value: object, member: object) -> bool:
    """
    Answer whether *value* equals *member*, a member of an `enum` or a `const`.

    >>> same(1, 1), same(1.0, 1), same(1, 1.0), same(True, 1), same([1.0], [1])
    (True, False, True, False, False)
    """
    if isinstance(value, bool) or isinstance(member, bool):
        return value is member
    if isinstance(value, float) and isinstance(member, int):
        return value == member and not value.is_integer()
    if isinstance(value, dict) and isinstance(member, dict):
        return value.keys() == member.keys() and all(same(value[name], member[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(member, list | tuple):
        return len(value) == len(member) and all(map(same, value, member))
    return value == member


class _Keyword:
    """A keyword with the strict rule; the text of its exception is never read."""

    def __init__(self, parent_schema: dict[str, object], value: object, schema_path: list[str | int]) -> None:  # noqa: ARG002
        self.wanted = value

    def holds(self, instance: object) -> bool:
        raise NotImplementedError

    def validate(self, instance: object) -> None:
        if not self.holds(instance):
            raise ValueError


class _Type(_Keyword):
    def holds(self, instance: object) -> bool:
        kind = kind_of(instance)
        wanted = self.wanted if isinstance(self.wanted, list | tuple) else (self.wanted,)
        return kind in wanted or (kind == "integer" and "number" in wanted)


class _Const(_Keyword):
    def holds(self, instance: object) -> bool:
        return same(instance, self.wanted)


class _Enum(_Keyword):
    def holds(self, instance: object) -> bool:
        return isinstance(self.wanted, list | tuple) and any(same(instance, member) for member in self.wanted)


STRICT: Final[Mapping[str, type[KeywordValidator]]] = {"type": _Type, "const": _Const, "enum": _Enum}
"""The keywords whose meaning is strict, as jsonschema-rs takes them."""
