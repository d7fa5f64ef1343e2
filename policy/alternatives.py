"""
Could one caller have more open entries that differ than one role schema can show? Asked of the files, before any call.

In come the tools' policies and who inherits what; out come findings at the entry that is one too many. Counts what is
shown differently, as far as that can be told without a caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from gatewright.policy.definitions import as_text
from gatewright.policy.formats import Findings
from gatewright.policy.model import Link, Names, Pointer, ToolSpec
from gatewright.policy.narrowing import MOST_ALTERNATIVES
from gatewright.policy.policyset import TenantPolicy
from gatewright.policy.toolfile import ArgumentCut, Entry, Limit, ToolPolicy

__all__ = ["check_alternatives"]

_HINT: Final = "merge entries that differ little; a role schema shows at most 8 alternatives"
_MOST_TRIED: Final = 4096


def check_alternatives(
    policies: Mapping[str, ToolPolicy],
    catalog: Mapping[str, ToolSpec],
    tenants: Iterable[TenantPolicy],
    names: Names,
    links: Sequence[Link],
    findings: Findings,
) -> None:
    """
    Find tools of which one caller could have too many entries open that differ.

    An error where a single role, with what it inherits, opens them; a warning where it takes several roles at once.
    """
    tenants = tuple(tenants)
    for policy in policies.values():
        entries = policy.allow or ()
        if len(entries) <= MOST_ALTERNATIVES:
            continue
        for own in [(), *(own for tenant in tenants if (own := tenant.limits.get(policy.tool)))]:
            shapes = {entry.id: _shape(entry, (*policy.limits, *own), catalog.get(policy.tool)) for entry in entries}
            if _Tool(policy.tool, entries, shapes, names, links).check(findings):
                break


class _Tool:
    """One tool's entries, each with what it shows; *shapes* that are equal are one alternative."""

    def __init__(
        self, tool: str, entries: Sequence[Entry], shapes: Mapping[str, object], names: Names, links: Sequence[Link]
    ) -> None:
        self.tool = tool
        self.entries = entries
        self.shapes = shapes
        self.names = names
        self.held = {role: frozenset(_inherited(role, links)) for role in names.roles}

    def check(self, findings: Findings) -> bool:
        """Add the first finding there is; whether there is one."""
        for role in self.held:
            extra = self._extra(self.held[role])
            if extra is not None:
                what = f"{self.tool!r}: whoever is {role!r} would have more than {MOST_ALTERNATIVES} that differ"
                findings.add(extra.place, "too_many_entries", what, _HINT)
                return True
        for roles in self._together():
            extra = self._extra(roles)
            if extra is not None:
                what = f"{self.tool!r}: closed to a caller with all of these roles at once: more than"
                findings.warn(extra.place, "too_many_entries", f"{what} {MOST_ALTERNATIVES} that differ", _HINT)
                return True
        return False

    def _extra(self, roles: frozenset[str]) -> Entry | None:
        """Return the first entry that holders of *roles* have beyond what can be shown."""
        seen: set[object] = set()
        for entry in self.entries:
            if not roles.isdisjoint(entry.roles):
                seen.add(self.shapes[entry.id])
                if len(seen) > MOST_ALTERNATIVES:
                    return entry
        return None

    def _together(self) -> Iterator[frozenset[str]]:
        """Yield the largest sets of roles that open entries and that one caller may hold, as far as is tried."""
        opening = [role for role in self.held if any(not self.held[role].isdisjoint(e.roles) for e in self.entries)]
        waiting: list[tuple[frozenset[str], int]] = [(frozenset(), 0)]
        for _ in range(_MOST_TRIED):
            if not waiting:
                return
            roles, at = waiting.pop()
            if at == len(opening):
                yield roles
                continue
            joined = roles | self.held[opening[at]]
            if self._may_hold(joined):
                waiting.append((joined, at + 1))
                if not all(self._may_hold(joined | self.held[role]) for role in opening[at + 1 :]):
                    waiting.insert(0, (roles, at + 1))
            else:
                waiting.append((roles, at + 1))

    def _may_hold(self, roles: frozenset[str]) -> bool:
        return all(roles.isdisjoint(self.names.roles.get(role, frozenset())) for role in roles)


def _inherited(role: str, links: Sequence[Link]) -> Iterator[str]:
    """Yield *role* and every role that it holds in some domain."""
    seen, waiting = {role}, [role]
    while waiting:
        each = waiting.pop()
        yield each
        for link in links:
            if link.member == each and link.role not in seen:
                seen.add(link.role)
                waiting.append(link.role)


def _shape(entry: Entry, limits: Iterable[Limit], spec: ToolSpec | None) -> tuple[object, ...]:
    """Return what stands for all that *entry* shows, as far as only it decides."""
    cutting = [limit for limit in limits if limit.entries and (limit.arguments or limit.duties.reason)]
    aimed = tuple(limit.id for limit in cutting if entry.id in (limit.entries or ()))
    required = frozenset[str]() if spec is None else frozenset(map(str, _listed(spec)))
    cuts = {text for item in entry.arguments.items() if (text := _text(*item, required))}
    return tuple(sorted(cuts)), aimed, entry.duties.reason


def _text(pointer: Pointer, cut: ArgumentCut, required: frozenset[str]) -> str:
    """Say what *cut* shows; nothing where it hides a name that would be hidden without it."""
    place = "/".join(pointer)
    if cut.how != "narrow":
        return "" if len(pointer) == 1 and pointer[0] not in required else f"{place} gone"
    return f"{place} {as_text(cut.schema)} {cut.granted} {as_text(cut.texts)}"


def _listed(spec: ToolSpec) -> Sequence[object]:
    required = spec.schema.get("required", ())
    return required if isinstance(required, list | tuple) else ()
