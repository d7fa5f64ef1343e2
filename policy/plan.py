"""
Which rows can match a request? A matcher's conjuncts taken apart into ways to look rows up.

In comes a matcher's tree; out comes a `Plan`: for each field how a row's cell is found from a request's, and whether
that is all the matcher says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatewright.policy.model import Rule
from gatewright.policy.syntax import All, Call, Comparison, Either, Expression, Literal, Negation, OneOf, Operand, Read

__all__ = ["Plan", "Ways", "calls_of", "conjuncts", "plan_lookup", "reads_of"]


@dataclass(frozen=True, slots=True)
class Ways:
    """
    How a row's cell may be found: it is the *same* as the request's, a *star*, a *prefix* of it with a star, or linked
    to it by a g function (*linked*).
    """

    same: bool = False
    star: bool = False
    prefix: bool = False
    linked: bool = False

    def or_else(self, other: Ways) -> Ways:
        """Any way of the two."""
        return Ways(
            self.same or other.same,
            self.star or other.star,
            self.prefix or other.prefix,
            self.linked or other.linked,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """
    The ways of each field that a conjunct decides alone. *is_whole*: nothing else stands in the matcher, so that the
    rows found this way are the rows that match.
    """

    ways: dict[str, Ways]
    is_whole: bool

    def is_exact(self, field: str) -> bool:
        """Whether a row's cell of *field* is the request's, or a star."""
        ways = self.ways.get(field)
        return ways is not None and not (ways.prefix or ways.linked)

    def without_unknown_stars(self, rules: Sequence[Rule]) -> Sequence[Rule]:
        """Return *rules* but those with a `*` that means nothing to the matcher, which is no name of anything."""
        unknown = [field for field, ways in self.ways.items() if not (ways.star or ways.prefix)]
        return [rule for rule in rules if all(getattr(rule, field) != "*" for field in unknown)] if unknown else rules


def plan_lookup(expression: Expression, fields: frozenset[str]) -> Plan:
    """Return the plan for *expression* over rows that have *fields*."""
    ways: dict[str, Ways] = {}
    rest = 0
    for conjunct in conjuncts(expression):
        found = _ways(conjunct)
        if found is None or found[0] in ways:
            rest += 1
        else:
            ways[found[0]] = found[1]
    return Plan(ways, rest == 0 and set(ways) == fields and not any(_is_odd(*item) for item in ways.items()))


def _is_odd(field: str, ways: Ways) -> bool:
    """Whether the masks have no place for the way: prefixes are of objects, links of subjects and objects."""
    return (ways.prefix and field != "obj") or (ways.linked and field not in ("sub", "obj"))


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Return what must all hold."""
    if isinstance(expression, All):
        return tuple(part for each in expression.parts for part in conjuncts(each))
    return (expression,)


def reads_of(expression: Expression) -> frozenset[Read]:
    """Return every field that *expression* reads."""
    return frozenset(operand for operand in _operands(expression) if isinstance(operand, Read))


def _operands(expression: Expression) -> tuple[Operand, ...]:
    match expression:
        case All(parts) | Either(parts):
            return tuple(operand for part in parts for operand in _operands(part))
        case Negation(part):
            return _operands(part)
        case Comparison(_, left, right):
            return (left, right)
        case OneOf(item, _):
            return (item,)
        case Call(_, operands):
            return operands


def calls_of(expression: Expression) -> tuple[Call, ...]:
    """Return every call in *expression*."""
    match expression:
        case Call():
            return (expression,)
        case All(parts) | Either(parts):
            return tuple(call for part in parts for call in calls_of(part))
        case Negation(part):
            return calls_of(part)
        case _:
            return ()


def _ways(conjunct: Expression) -> tuple[str, Ways] | None:
    """The field that *conjunct* decides and its ways, or None."""
    parts = conjunct.parts if isinstance(conjunct, Either) else (conjunct,)
    found: dict[str, Ways] = {}
    for part in parts:
        way = _way(part)
        if way is None:
            return None
        found[way[0]] = found.get(way[0], Ways()).or_else(way[1])
    return found.popitem() if len(found) == 1 else None


def _way(part: Expression) -> tuple[str, Ways] | None:
    match part:
        case Comparison("==", Read("p", field), Literal("*")) | Comparison("==", Literal("*"), Read("p", field)):
            return field, Ways(star=True)
        case Comparison("==", Read("p", field), Read("r", other)) | Comparison(
            "==", Read("r", other), Read("p", field)
        ):
            return (field, Ways(same=True)) if field == other else None
        case Call("keyMatch", (Read("r", other), Read("p", field))):
            return (field, Ways(same=True, prefix=True)) if field == other else None
        case Call("g", (Read("r", "sub"), Read("p", "sub"))) | Call(
            "g", (Read("r", "sub"), Read("p", "sub"), Read("r", "dom"))
        ):
            return "sub", Ways(same=True, linked=True)
        case Call("g2", (Read("r", "obj"), Read("p", "obj"))):
            return "obj", Ways(same=True, linked=True)
        case _:
            return None
