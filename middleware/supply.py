"""
What do a tool's own pure functions make of its arguments? Facts, business rules, and Python values for its parameters.

In come filled JSON arguments; out come facts, or the arguments as the function takes them. Each function gets a copy of
its own, so that none can change what was judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import NoneType
from typing import Any, Final, cast

from pydantic import ValidationError

from gatewright.middleware.contain import contain
from gatewright.middleware.signature import Signature
from gatewright.policy.errors import Invalid
from gatewright.policy.model import Json, JsonObject

__all__ = ["Supply", "copy_arguments", "copy_value"]

_SCALARS: Final = frozenset({str, int, float, bool, NoneType})


class Supply:
    """The facts and rules of one tool; immutable, shared by all its calls."""

    __slots__ = ("_coerced", "_facts", "_reasons", "_required", "_rules")

    def __init__(
        self,
        signature: Signature,
        facts: Mapping[str, Callable[[dict[str, Any]], Any]],
        rules: Sequence[Callable[..., Any]],
        reasons: Collection[str],
    ) -> None:
        self._facts = dict(facts)
        self._rules = tuple(rules)
        self._reasons = frozenset(reasons)
        self._required = tuple(
            each.name for each in signature.parameters if each.source == "argument" and not each.is_optional
        )
        self._coerced = tuple(
            (each.name, each.coerce)
            for each in signature.parameters
            if each.source == "argument" and each.coerce is not None
        )

    @property
    def is_own(self) -> bool:
        """Whether there is a fact or a rule, which may take its time."""
        return bool(self._rules or self._facts)

    def rules(self, arguments: dict[str, Json], settings: JsonObject) -> Mapping[str, object]:
        """
        Return the arguments after the business rules, as the tool's parameters take them.

        Raises:
            Invalid: a rule refuses, with a reason that was declared, or a value does not become what is annotated.
        """
        if not self._rules and not self._coerced:
            return arguments
        given: dict[str, Any] = copy_arguments(arguments)
        for rule in self._rules:
            given = self._apply(rule, given, settings)
        if any(name not in given for name in self._required):
            raise TypeError("a rule dropped an argument that the function needs")
        for name, coerce in self._coerced:
            if name in given:
                given[name] = _coerced(name, coerce, given[name])
        return given

    def fact(self, name: str, arguments: JsonObject) -> Json:
        """Return the fact *name*; whatever its function raises means that it is absent."""
        return cast("Json", contain(self._facts[name], copy_arguments(arguments)))

    def _apply(self, rule: Callable[..., Any], given: dict[str, Any], settings: JsonObject) -> dict[str, Any]:
        try:
            changed = contain(rule, given, copy_arguments(settings))
        except Invalid as refusal:
            if refusal.reason in self._reasons:
                raise
            field = refusal.field
        else:
            if not isinstance(changed, Mapping):
                raise TypeError("a rule returns the arguments")
            return dict(changed)
        raise Invalid("not_accepted", field=field)


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of JSON *arguments* that shares no list and no object with them."""
    return {name: copy_value(value) for name, value in arguments.items()}


def copy_value(value: Any) -> Any:
    """Return a copy of a JSON *value*; what is no list and no object is itself."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {name: copy_value(item) for name, item in value.items()}
    return [copy_value(item) for item in value] if isinstance(value, list | tuple) else value


def _coerced(name: str, coerce: Callable[[Any], Any], value: object) -> object:
    try:
        return coerce(value)
    except (ValidationError, ValueError, TypeError):
        pass
    raise Invalid("not_accepted", field=f"/{name}")
