"""
What does one test file state? Who calls, what is called, and what is true meanwhile, `like` resolved.

In comes a test document as plain data, checked by `expectations`; out come situations and what is expected of them.
Judges nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Final, cast

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.screening import Supply
from gatewright.policy.situations import Situation

__all__ = ["FORBIDDEN", "Casebook"]

FORBIDDEN: Final[JsonObject] = {"status": "forbidden"}
"""What is expected where nothing is said."""

_JOINED: Final = ("arguments", "claims", "context", "facts", "things")
_OWN: Final = ("like", "nobody")
_USED: Final = frozenset({"calls", "sum"})


class Casebook:
    """One test file. *now* is when its calls happen where the file does not say."""

    def __init__(self, path: str, document: JsonObject, now: dt.datetime) -> None:
        self.path: str = path
        self.document: JsonObject = document
        self.is_probe: bool = document.get("probe") is True
        self.calls: dict[str, JsonObject] = _resolved(_map(document, "calls"))
        people = _resolved(_map(document, "identities"))
        self.callers: dict[str, Caller] = {name: _caller(name, each) for name, each in people.items()}
        self._now = _time(document.get("now")) or now
        self._expected = _map(document, "expect")

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every identity with every call."""
        return ((who, call) for who in self.callers for call in self.calls)

    def expected(self, who: str, call: str) -> JsonObject:
        """What is expected of a pair: exactly `forbidden` where it is not listed."""
        expected = _map(self._expected, who).get(call, FORBIDDEN)
        return {"status": expected} if isinstance(expected, str) else cast("JsonObject", expected)

    def is_for_nobody(self, call: str) -> bool:
        """Whether nobody is to succeed with *call*."""
        return self.calls[call].get("nobody") is True

    def situation(self, who: str, call: str, supplies: Mapping[str, Supply]) -> Situation:
        """What is true while *who* makes *call*; what an expectation says of context and use comes last."""
        stated, expected = self.calls[call], self.expected(who, call)
        tool = str(stated.get("tool", ""))
        context = {**_map(self.document, "context"), **_map(stated, "context"), **_map(expected, "context")}
        if "called" in stated:
            context["called"] = stated["called"]
        used = {**_used(self.document, tool), **_used(stated, tool), **_used(expected, tool)}
        return Situation(
            caller=self.callers[who],
            tool=tool,
            arguments=_map(stated, "arguments"),
            now=_time(stated.get("now")) or self._now,
            context=context,
            things=cast("Mapping[str, JsonObject]", {**_map(self.document, "things"), **_map(stated, "things")}),
            used=used,
            facts=_map(stated, "facts"),
            supply=supplies.get(tool),
        )

    def visit(self, who: str, tool: str) -> Situation:
        """What is true while *who* looks at *tool*."""
        return Situation(self.callers[who], tool, {}, self._now, context=_map(self.document, "context"))

    def returned(self, call: str) -> tuple[Json, ...]:
        """What the tool is stated to return to *call*, if anything."""
        if "result" in self.calls[call]:
            return (self.calls[call]["result"],)
        results = _map(self.document, "results")
        return (results[call],) if call in results else ()

    def split(self, pair: str) -> tuple[str, str]:
        """The identity and the call of `amy small`; either name may hold blanks."""
        for at, each in enumerate(pair):
            if each == " " and pair[:at] in self.callers and pair[at + 1 :] in self.calls:
                return pair[:at], pair[at + 1 :]
        return pair, ""


def _resolved(found: JsonObject) -> dict[str, JsonObject]:
    return {name: _like(name, found, ()) for name in found}


def _like(name: str, found: JsonObject, seen: tuple[str, ...]) -> JsonObject:
    """One identity or call over the one that it is like; maps are joined, all else is replaced."""
    own = _map(found, name)
    base = own.get("like")
    if not isinstance(base, str) or base not in found or base in (*seen, name):
        return own
    under = {key: value for key, value in _like(base, found, (*seen, name)).items() if key not in _OWN}
    joined: dict[str, Json] = {
        key: {**_map(under, key), **_map(own, key)} for key in _JOINED if key in under and key in own
    }
    return {"subject": base, **under, **own, **joined}


def _caller(name: str, each: JsonObject) -> Caller:
    acting = _map(each, "actor")
    actor = Actor(str(acting["id"]), frozenset(_names(acting.get("roles")))) if "id" in acting else None
    return Caller(
        str(each.get("subject", name)),
        str(each.get("tenant", "")),
        frozenset(_names(each.get("roles"))),
        actor,
        _map(each, "claims"),
    )


def _used(stated: JsonObject, tool: str) -> dict[str, float]:
    """What is used of a tool's budgets: said of the tool, or of the one tool that is called."""
    used = _map(stated, "used")
    own = _map(used, tool) if tool in used else used
    return {name: value for name, value in own.items() if name in _USED and isinstance(value, int | float)}


def _names(value: Json) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _map(stated: JsonObject, key: str) -> JsonObject:
    value = stated.get(key)
    return value if isinstance(value, Mapping) else {}


def _time(value: Json) -> dt.datetime | None:
    return dt.datetime.fromisoformat(value) if isinstance(value, str) else None
