"""
Is the text of a row's cell a name that is declared? Roles, tenants, objects and actions, stars and patterns included.

In come the closed names, the catalog's tools and the layout of rows; out come faults, a cell at a time. Reads no line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from gatewright.policy.layout import Layout
from gatewright.policy.model import Names
from gatewright.policy.nearest import nearest
from gatewright.policy.operators import FAULTS, OPERATORS, has_open_alternative, star_fault

__all__ = ["Fault", "Vocabulary"]

_GROUP: Final = re.compile(r"tools/[A-Za-z0-9_.-]{1,128}")
_TOOL_ACTIONS: Final = frozenset({"call", "approve", "*"})
_NOTHING: Final = "\u00b7"
"""No name, type or id: a pattern that matches it is held by nothing."""


class Fault(NamedTuple):
    """What is wrong with one cell."""

    code: str
    message: str
    hint: str = ""


class Vocabulary:
    """The names that rows may use: those of names.yaml and, where it is known, the catalog's tools."""

    def __init__(self, names: Names, tools: frozenset[str] | None, layout: Layout | None = None) -> None:
        self.tools = tools
        self.layout: Layout = layout or Layout()
        self.holders: frozenset[str] = frozenset({*names.roles, *names.actors, "*"})
        self.domains: frozenset[str] = frozenset({*names.tenants, "*"})
        self.actions: dict[str, frozenset[str]] = {kind: actions | {"*"} for kind, actions in names.types.items()}
        self._actors = names.actors
        self._every_action = frozenset(_TOOL_ACTIONS.union(*names.types.values()))

    def whole_domain(self) -> str:
        """The domain of a row that names none: the one tenant, where the model has no tenants."""
        only = self.domains - {"*"}
        return next(iter(only)) if len(only) == 1 and "dom" not in self.layout.columns else "*"

    def of_holder(self, text: str) -> Fault | None:
        """Whom a p row is about."""
        return self._of_id(text) if _is_id(text) else self._named("sub", text, self.holders, "unknown_role", "role")

    def of_member(self, text: str) -> Fault | None:
        """Who is given a role by a g row."""
        return self._of_id(text) if _is_id(text) else self.of_role(text)

    def of_role(self, text: str) -> Fault | None:
        """The role that a g row gives."""
        return _unknown(text, self.holders - {"*"}, "unknown_role", "role")

    def of_pair(self, member: str, role: str) -> Fault | None:
        """Whether roles of subjects and of actors are kept apart."""
        acts = member in self._actors or member.startswith("actor:")
        if acts == (role in self._actors):
            return None
        return Fault("role_of_another_kind", "no g row joins roles of subjects and roles of actors")

    def of_domain(self, text: str, *, is_link: bool = False) -> Fault | None:
        """The tenant of a row; a `*` of a g row is every tenant under any matcher."""
        if is_link:
            return _unknown(text, self.domains, "unknown_tenant", "tenant")
        return self._named("dom", text, self.domains, "unknown_tenant", "tenant")

    def of_tool(self, text: str) -> Fault | None:
        """The tool of a g2 row."""
        return None if self.tools is None else _unknown(text, self.tools, "unknown_tool", "tool")

    def of_group(self, text: str) -> Fault | None:
        """The group of a g2 row."""
        return None if _GROUP.fullmatch(text) else Fault("bad_group", "a group is written tools/NAME")

    def of_object(self, obj: str, act: str, *, is_allow: bool) -> Iterator[tuple[str, Fault]]:
        """What is wrong with the object and the action of a p row, each with its column."""
        kind, colon, rest = obj.partition(":")
        star = self._star(obj)
        if star is not None:
            yield "obj", star
        elif obj == "*":
            if is_allow:
                yield "obj", Fault("allow_everything", "nothing may be allowed on a bare *")
            yield from self._action(act, self._every_action, "action")
        elif obj.startswith("tools/"):
            if obj.endswith("*"):
                yield "obj", Fault("star", "a group is named whole", "write one row a group")
            yield from self._action(act, _TOOL_ACTIONS, "action of a tool")
        elif colon:
            yield from self._resource(kind, rest, obj, act)
        else:
            yield from self._tool(obj, act)

    def _star(self, obj: str) -> Fault | None:
        """Why the stars of an object, or the whole of it as a pattern, are refused."""
        operators = self.layout.patterns.get("obj", ())
        for operator in operators:
            fault = FAULTS[operator](obj)
            if fault:
                return Fault("pattern", f"{operator}: {fault}")
        if operators:
            return None
        if star_fault(obj):
            return Fault("star", star_fault(obj))
        meaningless = self.layout.starless if obj == "*" else self.layout.prefixless
        if obj.endswith("*") and "obj" in meaningless:
            return Fault("star", "the matcher of this model gives this * no meaning", "name it whole")
        return None

    def _resource(self, kind: str, rest: str, obj: str, act: str) -> Iterator[tuple[str, Fault]]:
        fault = _unknown(kind, self.actions, "unknown_type", "resource type")
        if fault is not None:
            yield "obj", fault
        elif not rest:
            yield "obj", Fault("bad_id", f"{kind}: is followed by an id or *")
        elif self._reaches_beyond(obj, kind):
            yield (
                "obj",
                Fault("star", f"this pattern reaches beyond {kind}", f"begin it with {kind}: and no alternative"),
            )
        if kind in self.actions:
            yield from self._action(act, self.actions[kind], f"action of {kind}")

    def _reaches_beyond(self, obj: str, kind: str) -> bool:
        others = [*(self.tools or ()), _NOTHING, *(f"{other}:{_NOTHING}" for other in self.actions if other != kind)]
        return self._has_alternative(obj) or any(self._matches("obj", obj, other) for other in others)

    def _tool(self, obj: str, act: str) -> Iterator[tuple[str, Fault]]:
        is_pattern = bool(self.layout.patterns.get("obj"))
        prefix = obj[:-1]
        if is_pattern and self._is_open(obj):
            yield "obj", Fault("star", "this pattern names tools and resource types alike", "name the tools")
        elif not is_pattern and obj.endswith("*") and any(kind.startswith(prefix) for kind in self.actions):
            hint = "write a type and a colon before the *"
            yield "obj", Fault("star", "this names tools and resource types alike", hint)
        elif self.tools is not None and not any(self._names(obj, tool) for tool in self.tools):
            is_prefix = not is_pattern and obj.endswith("*")
            message = f"no tool begins with {prefix!r}" if is_prefix else f"no such tool: {obj!r}"
            yield "obj", Fault("unknown_tool", message, nearest(obj, self.tools))
        yield from self._action(act, _TOOL_ACTIONS, "action of a tool")

    def _names(self, obj: str, tool: str) -> bool:
        if obj == tool or self._matches("obj", obj, tool):
            return True
        return not self.layout.patterns.get("obj") and obj.endswith("*") and OPERATORS["keyMatch"](tool, obj)

    def _is_open(self, obj: str) -> bool:
        probes = [_NOTHING, *(f"{kind}:{_NOTHING}" for kind in self.actions)]
        return any(self._matches("obj", obj, probe) for probe in probes)

    def _has_alternative(self, obj: str) -> bool:
        return "regexMatch" in self.layout.patterns.get("obj", ()) and has_open_alternative(obj)

    def _action(self, act: str, known: Collection[str], what: str) -> Iterator[tuple[str, Fault]]:
        fault = self._named("act", act, known, "unknown_action", what)
        if fault is not None:
            yield "act", fault

    def _of_id(self, text: str) -> Fault | None:
        prefix, _, identity = text.partition(":")
        return None if identity and "*" not in identity else Fault("bad_id", f"{prefix}: is followed by one id")

    def _named(self, field: str, text: str, known: Collection[str], code: str, what: str) -> Fault | None:
        """Why *text* is none of *known*, nor a pattern that matches one of them."""
        if text == "*" and field in self.layout.starless:
            return Fault("star", "the matcher of this model gives this * no meaning", "name each")
        if text in known:
            return None
        for operator in self.layout.patterns.get(field, ()):
            fault = FAULTS[operator](text)
            if fault:
                return Fault("pattern", f"{operator}: {fault}")
            if any(self._matches(field, text, name) for name in known):
                return None
        return _unknown(text, known, code, what)

    def _matches(self, field: str, pattern: str, name: str) -> bool:
        return any(_is_match(operator, name, pattern) for operator in self.layout.patterns.get(field, ()))


def _is_match(operator: str, name: str, pattern: str) -> bool:
    try:
        return OPERATORS[operator](name, pattern)
    except ValueError:
        return False


def _is_id(text: str) -> bool:
    return text.startswith(("subject:", "actor:"))


def _unknown(text: str, known: Collection[str], code: str, what: str) -> Fault | None:
    return Fault(code, f"no such {what}: {text!r}", nearest(text, known)) if text and text not in known else None
