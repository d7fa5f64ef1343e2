"""
What plain JSON value is this Python value? A deep copy of dicts, lists and scalars alone, as strict as decoding.

In comes a mapping that an application passed as arguments, or what a tool returned; out comes a copy that shares
nothing with it, or `Malformed`. Never coerces: what is not JSON already is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.middleware.malformed import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_INTEGER,
    MAX_NODES,
    MAX_SIZE,
    Malformed,
    check_string,
)
from gatewright.policy.model import Json

__all__ = ["copy_json"]


def copy_json(
    value: object, *, big_integers: bool = False, max_nodes: int = MAX_NODES, max_size: int = MAX_SIZE
) -> tuple[Json, bool]:
    """
    Return a deep, plain copy of a value made by Python code, and whether an integral float stands in it.

    Subclasses of str, int and float become the plain type with the same value; tuples become lists.

    Raises:
        Malformed: something in it is not strict JSON, or it is over a cap.
    """
    copying = _Copying(big_integers, max_nodes, max_size)
    try:
        return copying.copy(value, 1), copying.integral_floats
    except Malformed as malformed:
        reason = malformed.reason
    except Exception:  # noqa: BLE001 - it changed while it was read, or its own methods raised
        reason = "malformed"
    raise Malformed(reason)


class _Copying:
    """One copy under way: what it may still hold, and what it has met."""

    __slots__ = ("integral_floats", "largest", "nodes", "size")

    def __init__(self, big_integers: bool, nodes: int, size: int) -> None:
        self.largest = 10**MAX_DIGITS - 1 if big_integers else MAX_INTEGER
        self.nodes = nodes
        self.size = size
        self.integral_floats = False

    def copy(self, value: object, depth: int) -> Json:
        self.nodes -= 1
        if self.nodes < 0:
            raise Malformed("too_many_nodes")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, int):
            return self._integer(int.__int__(value))
        if isinstance(value, float):
            return self._float(float.__float__(value))
        if depth > MAX_DEPTH:
            raise Malformed("too_deep")
        if isinstance(value, Mapping):
            return self._members(value, depth)
        if isinstance(value, list | tuple):
            return [self.copy(item, depth + 1) for item in value]
        raise Malformed("malformed")

    def _members(self, value: Mapping[object, object], depth: int) -> dict[str, Json]:
        members: dict[str, Json] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise Malformed("malformed")
            plain = self._string(name)
            if plain in members:
                raise Malformed("duplicate_key")
            members[plain] = self.copy(item, depth + 1)
        return members

    def _string(self, value: str) -> str:
        plain = str.__str__(value)
        check_string(plain)
        self.size -= len(plain) if plain.isascii() else len(plain.encode())
        if self.size < 0:
            raise Malformed("too_large_input")
        return plain

    def _integer(self, value: int) -> int:
        if not -self.largest <= value <= self.largest:
            raise Malformed("number_out_of_range")
        return value

    def _float(self, value: float) -> float:
        if value - value != 0:
            raise Malformed("number_out_of_range")
        self.integral_floats = self.integral_floats or value.is_integer()
        return value
