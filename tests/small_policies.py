"""Small policies for tests of the engine: rows of a policy.csv over a fixed set of names, read by the real loader."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.folder import load_policies
from gatewright.policy.model import ToolSpec
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import Source

TODAY = dt.date(2026, 9, 30)
TENANTS = ("acme", "globex")
TYPES = {"service": ("read", "mute"), "invoice": ("read",)}
TOOLS = ("logs.query", "logs.purge", "logsquery", "log.query", "p.search", "r.list", "notes-add", "notes-add-all")
ROLES = ("viewer", "analyst", "lead", "oncall", "suspended")
ACTORS = ("assistant", "copilot")


def spec(name: str) -> ToolSpec:
    """A tool without arguments."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return ToolSpec(name, "read", "read", "does it", "when asked", "anything else", schema)


CATALOG = {name: spec(name) for name in TOOLS}


def names_yaml(roles: Iterable[str] = ROLES, excludes: str = "") -> str:
    """The text of names.yaml; *excludes* is put behind the role `suspended`."""
    listed = ", ".join(f"{role}: {{ {excludes if role == 'suspended' else ''} }}" for role in roles)
    types = ", ".join(f"{name}: [{', '.join(actions)}]" for name, actions in TYPES.items())
    tenants = ", ".join(f"{name}: {{}}" for name in TENANTS)
    return f"roles: {{ {listed} }}\nactors: [{', '.join(ACTORS)}]\ntenants: {{ {tenants} }}\ntypes: {{ {types} }}\n"


def policies_of(rows: str, roles: Iterable[str] = ROLES, excludes: str = "", model: str = "") -> PolicySet:
    """The policies whose policy.csv is *rows*."""
    texts = {"policy.csv": rows, "names.yaml": names_yaml(roles, excludes), "identity.yaml": "issuers: []\n"}
    if model:
        texts["model.conf"] = model
    return load_policies(Source.from_texts(texts), CATALOG)


def engine_of(rows: str, roles: Iterable[str] = ROLES, excludes: str = "") -> Engine:
    """The engine of the policies whose policy.csv is *rows*."""
    return compile_engine(policies_of(rows, roles, excludes))


def caller(*roles: str, subject: str = "ann", tenant: str = "acme", actor: Actor | None = None) -> Caller:
    """Who calls; without a key, so that nothing of it is remembered."""
    return Caller(subject, tenant, frozenset(roles), actor)


def may(engine: Engine, who: Caller, obj: str, act: str = "call", today: dt.date = TODAY) -> bool:
    """Whether *who* may do *act* to *obj*, through every role held."""
    return engine.decide(engine.standing(who, today), obj, act).allowed
