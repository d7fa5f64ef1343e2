"""
What does Casbin say of one request? The policy rows compiled once, asked by any number of threads.

In comes a policy set; out comes an immutable `Engine`. Rows under a matcher of the usual form are bit masks, rows under
any other are run through the compiled matcher. Source: POLICY.md, "Casbin".
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator
from threading import Lock
from typing import Final, Protocol

from cachetools import LRUCache

from gatewright.policy.caller import Caller
from gatewright.policy.decision import DENIED, Decision, Granted
from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.forking import renew_after_fork
from gatewright.policy.index import Index
from gatewright.policy.matcher import Model, check_distribution, read_model
from gatewright.policy.model import Names
from gatewright.policy.operators import FAULTS
from gatewright.policy.pacing import in_slices
from gatewright.policy.policyset import PolicySet
from gatewright.policy.scan import Scan
from gatewright.policy.standing import Roles, Standing

__all__ = ["Decision", "Engine", "Granted", "Standing", "compile_engine", "unheld"]

_MOST_STANDINGS: Final = 4096


class _Rows(Protocol):
    """The rows of a policy set in a form that answers."""

    def ask(self, standing: Standing, roles: Iterable[str] | None, obj: str, act: str) -> Decision: ...

    def objects(
        self, standing: Standing, names: Collection[str], effect: str, type: str, action: str
    ) -> Iterable[str]: ...


class Engine:
    """A compiled policy set. Nothing in it changes but bounded caches."""

    def __init__(self, policies: PolicySet, model: Model) -> None:
        subjects = model.plan.ways.get("sub")
        only = "" if model.has_tenant else next(iter(policies.names.tenants), "")
        self._roles = Roles(policies, inherits=subjects is None or subjects.linked, only_tenant=only)
        self._rows: _Rows = (
            Index(policies, model.plan, self._roles)
            if model.plan.is_whole
            else Scan(policies, model.plan, model.predicate, self._roles)
        )
        self._standings: LRUCache[tuple[bytes, int], Standing] = LRUCache(maxsize=_MOST_STANDINGS)
        self._lock = Lock()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with an empty cache and a free lock, in a process that was forked off."""
        self._standings = LRUCache(maxsize=_MOST_STANDINGS)
        self._lock = Lock()

    def standing(self, caller: Caller, today: dt.date) -> Standing:
        """Return what *caller* is to the policies on the day *today* (UTC): roles, masks and exclusion."""
        if not caller.key:
            return self._roles.standing(caller, today)
        key = (caller.key, today.toordinal())
        with self._lock:
            found = self._standings.get(key)
        if found is None:
            found = self._roles.standing(caller, today)
            with self._lock:
                self._standings[key] = found
        return found

    def decide(self, standing: Standing, obj: str, act: str, roles: Iterable[str] | None = None) -> Decision:
        """
        Answer whether *standing* may do *act* to *obj*.

        Allows count for *roles* (those held of them, with what they inherit; None: every role held), the subject and
        `*`; denies for every role held. With an actor, the actor must be allowed too. Never raises: an exception is a
        denial that names it (P1).
        """
        try:
            if standing.excluded or not (isinstance(obj, str) and isinstance(act, str) and obj and act):
                return DENIED
            if "*" in obj or "*" in act:
                return DENIED
            return self._rows.ask(standing, roles, obj, act)
        except Exception as error:  # noqa: BLE001 - whatever went wrong while deciding, nothing was allowed
            return Decision(False, fault=type(error).__name__)

    def opening_roles(self, standing: Standing, roles: Iterable[str], obj: str) -> frozenset[str]:
        """Return those of *roles* that *standing* holds and that Casbin lets `call` the tool *obj*."""
        return frozenset(
            role for role in roles if role in standing.roles and self.decide(standing, obj, "call", (role,)).allowed
        )

    def granted(self, standing: Standing, roles: Iterable[str], type: str, action: str) -> Granted:
        """Return what *roles* and the subject are granted of a resource type, denies and actor's bounds taken off."""
        if standing.excluded:
            return Granted(frozenset(), False)
        roles = tuple(roles)
        names = {*self._roles.names(roles, standing), standing.subject}
        objects = set(self._rows.objects(standing, names, "allow", type, action))
        literals = {obj for obj in objects if not obj.endswith("*")}
        ids = frozenset(obj.partition(":")[2] for obj in literals if self.decide(standing, obj, action, roles).allowed)
        return Granted(ids, len(literals) < len(objects) and self._reaches_actor(standing, roles, type, action))

    def _reaches_actor(self, standing: Standing, roles: tuple[str, ...], type: str, action: str) -> bool:
        """Whether a pattern of the subject's leaves something to whoever acts: another pattern, or a granted id."""
        if not standing.actor:
            return True
        names = {*standing.actor_roles, "*", standing.actor}
        objects = self._rows.objects(standing, names, "allow", type, action)
        return any(obj.endswith("*") or self.decide(standing, obj, action, roles).allowed for obj in objects)

    def denies_type(self, standing: Standing, type: str, action: str) -> bool:
        """Answer whether some deny row that can match this caller names ids of *type*."""
        names = {*standing.roles, *standing.actor_roles, "*", standing.subject, standing.actor}
        return any(True for _ in self._rows.objects(standing, names, "deny", type, action))


def compile_engine(policies: PolicySet) -> Engine:
    """
    Compile the rows of *policies*.

    Raises:
        PolicyInvalid: the model is not one the engine can mean, or a row is no pattern of its operator.
        Misuse: the wrong casbin is installed.
    """
    check_distribution()
    model = read_model(policies.model)
    findings = [*unheld(policies.names, model), *_misread(policies, model)]
    if findings:
        raise PolicyInvalid(findings)
    return Engine(policies, model)


def unheld(names: Names, model: Model) -> Iterator[Finding]:
    """What is wrong with a model without tenants: exactly one is declared, for its callers are the ones it is about."""
    if not model.has_tenant and len(names.tenants) != 1:
        message = "a model without dom holds rows to no tenant, and several are declared"
        yield Finding(Place("model.conf"), "model", message, "add dom to r and p, or declare one tenant")


def _misread(policies: PolicySet, model: Model) -> Iterator[Finding]:
    """Rows whose cell the operator of the matcher does not take as a pattern, or that allow everything there is."""
    for operator, field in model.patterns():
        fault_of = FAULTS[operator]
        for rule in in_slices(policies.rules):
            fault = fault_of(getattr(rule, field))
            if fault:
                yield Finding(rule.place, "pattern", f"{operator}: {fault}")
    ways = model.plan.ways.get("obj")
    for rule in in_slices(policies.rules) if ways is not None and (ways.prefix or ways.star) else ():
        if rule.obj == "*" and rule.eft == "allow":
            yield Finding(rule.place, "allow_everything", "nothing may be allowed on a bare *")
