"""
What is one call, and one open entry on its way through the stages? Records, and where their references come from.

Holds what was given and what has been filled in; decides nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reference.grants import Standing, is_granted
from reference.references import Sources, at, places, tokens

INVISIBLE = ("Cc", "Cf", "Zl", "Zp")

Rule = Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]


@dataclass
class Call:
    """Everything one call is judged by."""

    policies: Mapping[str, Any]
    spec: Mapping[str, Any]
    caller: Mapping[str, Any]
    who: Standing
    context: Mapping[str, Any]
    things: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, Callable[[dict[str, Any]], Any]]
    used: Mapping[str, Any]
    rules: tuple[Rule, ...]


@dataclass
class Attempt:
    """One open entry with the limits that apply to it, on its way through the stages."""

    call: Call
    entry: dict[str, Any]
    limits: list[dict[str, Any]]
    roles: list[str]
    sent: dict[str, Any] = field(default_factory=dict)
    reasons: list[Any] = field(default_factory=list)
    filled: dict[str, Any] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The entry and its limits."""
        return [self.entry, *self.limits]

    @property
    def sources(self) -> Sources:
        """Where the references that need the call come from."""
        return {
            "$argument": lambda name: at(tokens(name), self.filled),
            "$fact": self.known.__getitem__,
            "$context": self.call.context.__getitem__,
            "$resource": lambda name: _attribute(self, *name.split(".", 1)),
        }

    def grants(self, wanted: Mapping[str, str], value: Any) -> bool:
        """Whether Casbin grants the id *value* for the roles that opened the entry."""
        name = f"{wanted['type']}:{value}"
        return isinstance(value, str) and value != "" and is_granted(self.call.who, self.roles, name, wanted["action"])

    def may_touch(self, kind: str, value: Any) -> bool:
        """Whether *value* names a thing that Casbin allows the tool's action on."""
        if not is_id(value):
            return False
        return is_granted(self.call.who, self.roles, f"{kind}:{value}", self.call.spec["action"])


def is_id(value: Any) -> bool:
    """Whether *value* can name a thing: an integer, or text that is not empty and holds nothing invisible."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    return isinstance(value, str) and value != "" and not any(unicodedata.category(c) in INVISIBLE for c in value)


def caller_sources(policies: Mapping[str, Any], caller: Mapping[str, Any]) -> Sources:
    """Where `$identity` and `$tenant` come from."""
    claims = {name: item for name, item in caller.get("claims", {}).items() if name in policies["claims"]}
    identity = {**claims, "subject": caller["subject"], "tenant": caller["tenant"]}
    return {"$identity": identity.__getitem__, "$tenant": settings_of(policies, caller["tenant"]).__getitem__}


def settings_of(policies: Mapping[str, Any], tenant: str) -> dict[str, Any]:
    """A tenant's settings; the defaults of every tenant's for one that a pattern of identity.yaml lets in."""
    found: dict[str, Any] = policies["tenants"].get(tenant, {}).get("settings", policies["defaults"])
    return found


def named(attempt: Attempt, declared: Mapping[str, str]) -> list[Any]:
    """The ids that a resource's pointer (or several joined with @) names in the filled arguments."""
    found: list[Any] = [None]
    for number, pointer in enumerate(declared["at"].split("@")):
        values = [at(path, attempt.filled) for path, present in places(tokens(pointer), attempt.filled) if present]
        values = [value for value in values if value is not None]
        found = values if number == 0 else [f"{one}@{other}" for one in found for other in values]
    return found


def record_of(attempt: Attempt, declared: Mapping[str, str], key: Any) -> Mapping[str, Any] | None:
    record = attempt.call.things.get(f"{declared['type']}:{key}")
    if record is not None and declared.get("scope") == "tenant" and record.get("tenant") != attempt.call.who.tenant:
        return None
    return record


def _attribute(attempt: Attempt, name: str, attribute: str) -> Any:
    declared = attempt.call.spec["resources"][name]
    (key,) = named(attempt, declared)
    record = record_of(attempt, declared, key)
    if record is None:
        raise KeyError(name)
    return record[attribute]
