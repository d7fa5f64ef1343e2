"""
What does Casbin grant? The format's Casbin half without Casbin: rows, inheritance, groups, tenants, denies, actors.

A caller is a mapping of subject, tenant, roles, claims and actor. What cannot be found is not granted.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Standing:
    """What a caller holds today, inherited roles included."""

    rows: Mapping[str, list[list[str]]]
    tenant: str
    subject: str
    roles: frozenset[str]
    actor: str | None
    actor_roles: frozenset[str]
    excluded: bool


def standing(policies: Mapping[str, Any], caller: Mapping[str, Any], today: dt.date) -> Standing:
    """Work out what *caller* holds on *today* (UTC)."""
    names = policies["names"]
    rows = {kind: [row["cells"] for row in found if _is_live(row, today)] for kind, found in policies["rows"].items()}
    tenant, subject, actor = caller["tenant"], f"subject:{caller['subject']}", caller.get("actor")
    declared = set(names.get("roles", {}))
    roles = inherit(rows, (set(caller["roles"]) & declared) | {subject}, tenant) & declared
    actor_roles: frozenset[str] = frozenset()
    if actor is not None:
        claimed = set(actor["roles"]) & set(names.get("actors", []))
        actor_roles = inherit(rows, claimed | {f"actor:{actor['id']}"}, tenant) & set(names.get("actors", []))
    return Standing(
        rows=rows,
        tenant=tenant,
        subject=subject,
        roles=roles,
        actor=None if actor is None else f"actor:{actor['id']}",
        actor_roles=actor_roles,
        excluded=_is_excluded(names.get("roles", {}), roles),
    )


def _is_live(row: Mapping[str, Any], today: dt.date) -> bool:
    return row["until"] is None or today <= row["until"]


def _is_excluded(roles: Mapping[str, Any], held: Iterable[str]) -> bool:
    held = set(held)
    return any(held & set((roles[role] or {}).get("excludes", [])) for role in held)


def inherit(rows: Mapping[str, list[list[str]]], names: Iterable[str], tenant: str) -> frozenset[str]:
    """*names* and all that they hold through `g` rows in *tenant*, however deep."""
    held = set(names)
    while True:
        more = {role for member, role, dom in rows["g"] if member in held and dom in ("*", tenant)} - held
        if not more:
            return frozenset(held)
        held |= more


def is_matched(pattern: str, value: str) -> bool:
    """Whether a row's object matches: literally, or by a last `*` that stands for something."""
    if pattern.endswith("*"):
        return value.startswith(pattern[:-1]) and len(value) > len(pattern) - 1
    return pattern == value


def _matches(who: Standing, row: list[str], subs: Iterable[str], obj: str, act: str) -> bool:
    sub, dom, pattern, action = row[:4]
    return (
        sub in subs
        and dom in ("*", who.tenant)
        and action in ("*", act)
        and (is_matched(pattern, obj) or [obj, pattern] in who.rows["g2"])
    )


def _is_allowed(who: Standing, giving: set[str], taking: set[str], obj: str, act: str) -> bool:
    allow = any(row[4] == "allow" and _matches(who, row, giving, obj, act) for row in who.rows["p"])
    deny = any(row[4] == "deny" and _matches(who, row, taking, obj, act) for row in who.rows["p"])
    return allow and not deny


def _givers(who: Standing, roles: Iterable[str]) -> set[str]:
    return {who.subject, "*", *inherit(who.rows, roles, who.tenant)}


def _actors(who: Standing) -> set[str]:
    return {who.actor or "", "*", *who.actor_roles}


def is_granted(who: Standing, roles: Iterable[str], obj: str, act: str) -> bool:
    """Whether *roles* (or the subject) grant *obj*, nothing denies it, and the actor is allowed it as well."""
    if not who.tenant or who.subject == "subject:" or not obj or "*" in f"{who.tenant}{who.subject}{obj}{act}":
        return False
    if not _is_allowed(who, _givers(who, roles), {who.subject, "*", *who.roles}, obj, act):
        return False
    return who.actor is None or _is_allowed(who, _actors(who), _actors(who), obj, act)


def opening_roles(who: Standing, roles: Iterable[str], tool: str) -> list[str]:
    """Those of an entry's *roles* that are held and have `call` on *tool*."""
    if who.excluded:
        return []
    return [role for role in roles if role in who.roles and is_granted(who, [role], tool, "call")]


def grants_any(who: Standing, roles: Iterable[str], kind: str, act: str) -> bool:
    """Whether any id of type *kind* can be granted at all: a literal that is granted, or patterns on every side."""
    sides = [
        _objects(who, giving, kind, act) for giving in [_givers(who, roles), *([_actors(who)] if who.actor else [])]
    ]
    literals = {obj for side in sides for obj in side if not obj.endswith("*")}
    return any(is_granted(who, roles, obj, act) for obj in literals) or all(
        any(obj.endswith("*") for obj in side) for side in sides
    )


def _objects(who: Standing, giving: set[str], kind: str, act: str) -> list[str]:
    """The objects of allow rows that can be ids of type *kind*."""
    return [
        obj
        for sub, dom, obj, action, effect in who.rows["p"]
        if effect == "allow"
        and sub in giving
        and dom in ("*", who.tenant)
        and action in ("*", act)
        and _reaches(obj, kind)
    ]


def _reaches(pattern: str, kind: str) -> bool:
    """Whether a row's object can be an id of type *kind*."""
    start = f"{kind}:"
    return pattern.startswith(start) or (pattern.endswith("*") and start.startswith(pattern[:-1]))


def denies_some(who: Standing, kind: str, act: str) -> bool:
    """Whether a deny row that can match this caller names ids of type *kind*."""
    subs = {who.subject, "*", *who.roles} | (set() if who.actor is None else _actors(who))
    return any(
        effect == "deny" and sub in subs and dom in ("*", who.tenant) and action in ("*", act) and _reaches(obj, kind)
        for sub, dom, obj, action, effect in who.rows["p"]
    )
