"""
What does model.conf say? Parsed by pycasbin, held to a closed grammar, and compiled.

In comes the text of a model; out comes a `Model`, or `PolicyInvalid` with every finding. The only place that imports
casbin, and the one that makes sure it is pycasbin's.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from casbin.config import Config

from gatewright.policy.errors import Finding, Misuse, Place, PolicyInvalid
from gatewright.policy.layout import Layout
from gatewright.policy.operators import FAULTS, OPERATORS
from gatewright.policy.plan import Plan, calls_of, conjuncts, plan_lookup, reads_of
from gatewright.policy.predicate import FIELDS, Predicate, compile_predicate
from gatewright.policy.syntax import Call, Expression, Literal, NotInGrammar, Read, parse_matcher

__all__ = ["Model", "check_distribution", "read_layout", "read_model"]

_FILE: Final = "model.conf"
_ALLOW: Final = "some(where(p.eft==allow))"
_UNLESS_DENIED: Final = f"{_ALLOW}&&!some(where(p.eft==deny))"
_NEEDED: Final = {
    "r": "request_definition",
    "p": "policy_definition",
    "e": "policy_effect",
    "m": "matchers",
}
_SECTIONS: Final = _NEEDED | {"g": "role_definition", "g2": "role_definition"}
_MORE_COLUMNS: Final = ("eft", "until", "ref")
_LINKS: Final = {"g": {"_,_": 2, "_,_,_": 3}, "g2": {"_,_": 2}}


@dataclass(frozen=True, slots=True)
class Model:
    """
    A model that the engine can mean.

    *columns* are the cells of a p row in their order, *links* how many a row of g and of g2 has. *has_tenant* says
    whether rows are held to the request's tenant.
    """

    columns: tuple[str, ...]
    links: Mapping[str, int]
    expression: Expression
    predicate: Predicate
    plan: Plan
    has_tenant: bool

    def layout(self) -> Layout:
        """How rows are read under this model."""
        known = {field: ways for field, ways in self.plan.ways.items() if field in self.columns}
        found: dict[str, tuple[str, ...]] = {}
        for operator, field in self.patterns():
            if operator != "keyMatch":
                found[field] = (*found.get(field, ()), operator)
        return Layout(
            self.columns,
            self.links,
            starless=frozenset(field for field, ways in known.items() if not (ways.star or ways.prefix)),
            prefixless=frozenset(field for field, ways in known.items() if not ways.prefix),
            patterns=found,
        )

    def patterns(self) -> tuple[tuple[str, str], ...]:
        """The operators that take a row's cell as their pattern, each with the cell's field."""
        calls = [call for call in calls_of(self.expression) if call.name in OPERATORS]
        found = [(call.name, call.operands[1]) for call in calls]
        return tuple((name, operand.field) for name, operand in found if isinstance(operand, Read))


@functools.cache
def check_distribution() -> None:
    """
    Make sure that `casbin` is what pycasbin installed.

    Raises:
        Misuse: the older distribution named casbin is installed too; the last one installed overwrites the other.
    """
    found = set(importlib.metadata.packages_distributions().get("casbin", ()))
    if found - {"pycasbin"}:
        raise Misuse(
            "two distributions provide `casbin`, and the last one installed overwrites the other",
            "pip uninstall casbin pycasbin && pip install pycasbin",
        )


def read_layout(text: str) -> Layout:
    """
    Return how rows are read under the model *text*, so far as its columns can be told; else as POLICY.md writes them.
    """
    try:
        reading = _Reading(text)
        reading.check_definitions()
        return reading.layout()
    except PolicyInvalid:
        return Layout()


def read_model(text: str) -> Model:
    """
    Read *text*.

    Raises:
        PolicyInvalid: it does not parse, holds what nothing here reads, or says what the engine cannot mean.
    """
    reading = _Reading(text)
    reading.check_definitions()
    return reading.model()


class _Reading:
    """One model while it is being read; values are pycasbin's, places our own."""

    def __init__(self, text: str) -> None:
        self.findings: list[Finding] = []
        self.lines: dict[str, int] = {}
        self.text = text
        try:
            self.config = Config.new_config_from_text(text)
        except Exception:  # noqa: BLE001 - the parser raises whatever it met; the file is at fault
            raise PolicyInvalid([Finding(Place(_FILE), "model", "pycasbin cannot parse the model")]) from None

    def check_definitions(self) -> None:
        """Every definition is known, stands once, and none that is needed is missing."""
        for section, key, line in _definitions(self.text):
            if _SECTIONS.get(key) != section:
                self._find(f"nothing here reads {key!r} in [{section}]", line=line)
            elif key in self.lines:
                self._find(f"{key} is defined twice", line=line)
            else:
                self.lines[key] = line
        for key, section in _NEEDED.items():
            if key not in self.lines:
                self._find(f"[{section}] has no {key}", line=1)
        if self.findings:
            raise PolicyInvalid(self.findings)

    def model(self) -> Model:
        """Return what the definitions say together."""
        request, columns = self._columns("r"), self._columns("p")
        self._check_columns(request, columns)
        self._check_effect("eft" in columns)
        links = self._links()
        expression = self._expression({**dict.fromkeys(OPERATORS, 2), **links})
        if expression is not None:
            self._check_matcher(expression, request, columns)
        if self.findings or expression is None:
            raise PolicyInvalid(self.findings)
        fields = frozenset(FIELDS) & frozenset(columns)
        has_tenant = "dom" in request and "dom" in columns
        plan = plan_lookup(expression, fields)
        return Model(columns, links, expression, compile_predicate(expression), plan, has_tenant)

    def layout(self) -> Layout:
        """Return how rows are read, going by the columns alone."""
        request, columns = self._columns("r"), self._columns("p")
        self._check_columns(request, columns)
        links = self._links()
        if self.findings:
            raise PolicyInvalid(self.findings)
        return Layout(columns, links)

    def _value(self, key: str) -> str:
        return str(self.config.get(f"{_SECTIONS[key]}::{key}"))

    def _columns(self, key: str) -> tuple[str, ...]:
        return tuple(column.strip() for column in self._value(key).split(","))

    def _check_columns(self, request: tuple[str, ...], columns: tuple[str, ...]) -> None:
        for key, found, known in (("r", request, FIELDS), ("p", columns, (*FIELDS, *_MORE_COLUMNS))):
            for column in found:
                if column not in known:
                    self._find(
                        f"{key} has a field that maps to nothing: {column!r}", key, f"fields are {', '.join(known)}"
                    )
            if len(set(found)) < len(found):
                self._find(f"{key} has a field twice", key)
            for column in ("sub", "obj", "act"):
                if column not in found:
                    self._find(f"{key} has no {column}", key)

    def _check_effect(self, has_effect: bool) -> None:
        effect = "".join(self._value("e").partition("#")[0].split()).replace("p_eft", "p.eft")
        if effect not in (_ALLOW, _UNLESS_DENIED):
            self._find(
                "an effect that does not need an explicit allow, or lets one win over a deny", "e", _WANTED_EFFECT
            )
        elif effect == _ALLOW and has_effect:
            self._find("rows have an eft, and this effect passes over denies", "e", _WANTED_EFFECT)

    def _links(self) -> dict[str, int]:
        """The g functions that are defined, each with how many cells its rows have."""
        found = {}
        for key, known in _LINKS.items():
            if key in self.lines:
                value = "".join(self._value(key).split())
                if value not in known:
                    self._find(f"{key} is not one that rows are read for", key, f"write {' or '.join(known)}")
                found[key] = value.partition("(")[0].count("_")
        return found

    def _expression(self, functions: Mapping[str, int]) -> Expression | None:
        try:
            return parse_matcher(self._value("m"), functions)
        except NotInGrammar as error:
            self._find(
                str(error), "m", "the grammar is closed: && || !, comparisons, in, r.… and p.…, Casbin's operators"
            )
            return None

    def _check_matcher(self, expression: Expression, request: tuple[str, ...], columns: tuple[str, ...]) -> None:
        for read in sorted(reads_of(expression), key=lambda each: (each.side, each.field)):
            known = request if read.side == "r" else columns
            if read.field not in known or read.field not in FIELDS:
                self._find(f"the matcher reads {read.side}.{read.field}, which is no field", "m")
        if Read("r", "sub") not in reads_of(expression):
            self._find("the matcher does not ask who: r.sub", "m")
        if "dom" in request and "dom" in columns and not any(map(_holds_to_tenant, conjuncts(expression))):
            self._find("the matcher does not hold rows to their tenant", "m", '… && (p.dom == "*" || p.dom == r.dom)')
        for call in calls_of(expression):
            self._check_call(call)

    def _check_call(self, call: Call) -> None:
        if call.name not in OPERATORS:
            return
        value, pattern = call.operands
        if call.name == "ipMatch" and value == Read("r", "sub"):
            self._find("ipMatch: a subject is no address", "m", "hours and places are conditions on the context")
        if isinstance(pattern, Literal):
            fault = FAULTS[call.name](pattern.text)
            if fault:
                self._find(f"{call.name}: {fault}", "m")
        elif pattern.side == "r":
            self._find(f"the pattern of {call.name} comes from the request", "m", f"{call.name}(r.…, p.…)")

    def _find(self, message: str, key: str = "", hint: str = "", line: int = 0) -> None:
        self.findings.append(Finding(Place(_FILE, line or self.lines.get(key, 1)), "model", message, hint))


_WANTED_EFFECT: Final = "e = some(where (p.eft == allow)) && !some(where (p.eft == deny))"


def _holds_to_tenant(conjunct: Expression) -> bool:
    """Whether *conjunct* is about tenants alone and keeps a row of one from a request of another."""
    if reads_of(conjunct) != {Read("r", "dom"), Read("p", "dom")}:
        return False
    if any(call.name not in ("keyMatch",) for call in calls_of(conjunct)):
        return False
    predicate = compile_predicate(conjunct)
    pairs = (("a", "b"), ("b", "a"))
    return not any(predicate("", one, "", "", "", other, "", "", None, None) for one, other in pairs)


def _definitions(text: str) -> Iterator[tuple[str, str, int]]:
    """Section, key and first line of each definition, in the way that pycasbin joins lines."""
    section, held, start = "", "", 0
    for number, raw in enumerate(f"{text}\n".split("\n"), 1):
        line = raw.strip()
        is_blank = not line or line[0] in "#;"
        is_section = not is_blank and line[0] == "[" and line[-1] == "]"
        if not is_blank and not is_section:
            start = start if held else number
            held += line.removesuffix("\\")
        if held and (is_blank or is_section or not line.endswith("\\")):
            yield section, held.partition("=")[0].strip(), start
            held = ""
        if is_section:
            section = line[1:-1]
