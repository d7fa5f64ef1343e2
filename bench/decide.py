"""
What does a decision cost, beside stock pycasbin and cedarpy on the same rules and requests?

Every engine is prepared first, and all must agree before any is timed. No decision is cached. Six kinds of request:
hit, miss, deny, wildcard, a deep chain of roles, and another tenant. Prints medians and ratios, and one JSON line last.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import casbin
import cedarpy
from _policies import DEPTH, folder_texts, links, rows, tenant_names
from _timing import reference_us

from gatewright.policy.caller import Caller
from gatewright.policy.folder import DEFAULT_MODEL, load_policies
from gatewright.policy.snapshot import compile_snapshot
from gatewright.policy.source import Source

TODAY = dt.date(2026, 12, 1)
KINDS = ("hit", "miss", "deny", "wildcard", "deep", "tenants")
PATIENCE_S = 60.0
"""A peer that needs longer than this for one size is left out of the larger ones."""

Decide = Callable[["Request"], bool]


class Request(NamedTuple):
    """Who, where, what, how, and what the answer is."""

    role: str
    tenant: str
    obj: str
    act: str
    allowed: bool


def requests(rules: int) -> dict[str, list[Request]]:
    """Requests of each kind, from the rows themselves; an equal number of each."""
    lines = [line.split(", ") for line in rows(rules)]
    chance = random.Random(rules)
    denied = {(line[1], line[2], line[3]) for line in lines if line[5] == "deny"}
    plain = [line for line in lines if line[3].startswith("record:") and line[1].startswith("role")]
    hits = [line for line in plain if line[5] == "allow" and (line[1], line[2], line[3]) not in denied]
    found = {
        "hit": [Request(line[1], line[2], line[3], "read", True) for line in hits],
        "miss": [Request(line[1], line[2], f"{line[3]}x", "read", False) for line in hits],
        "deny": [Request(line[1], line[2], line[3], "read", False) for line in plain if line[5] == "deny"],
        "wildcard": [Request(line[1], line[2], f"{line[3][:-1]}a", "read", True) for line in lines if "*" in line[3]],
        "deep": [Request("step0", "t1", line[3], "read", True) for line in lines if line[1] == f"step{DEPTH}"],
        "tenants": [Request(line[1], _other(line[2], rules), line[3], "read", False) for line in hits],
    }
    return {kind: chance.choices(each, k=64) for kind, each in found.items() if each}


def _other(tenant: str, rules: int) -> str:
    names = tenant_names(rules)
    return names[(names.index(tenant) + 1) % len(names)]


def our_engine(rules: int, roles: set[str]) -> Decide:
    """Our engine; callers stand ready, as they do in a cached token."""
    engine = compile_snapshot(load_policies(Source.from_texts(folder_texts(rules)))).engine
    standings = {
        (role, tenant): engine.standing(Caller("ann", tenant, frozenset({role})), TODAY)
        for role in roles
        for tenant in tenant_names(rules)
    }

    def decide(asked: Request) -> bool:
        return engine.decide(standings[asked.role, asked.tenant], asked.obj, asked.act).allowed

    return decide


def pycasbin_engine(rules: int, roles: set[str]) -> Decide:
    """Stock pycasbin on the same rows, padded to one width as it needs them."""
    with tempfile.TemporaryDirectory() as folder:
        model, policy = Path(folder) / "model.conf", Path(folder) / "policy.csv"
        model.write_text(DEFAULT_MODEL)
        lines = [line if line.count(",") == 7 else f"{line}, 9999-12-31, -" for line in rows(rules)]
        policy.write_text("\n".join([*lines, *links(), "g2, none, tools/none"]))
        enforcer = casbin.Enforcer(str(model), str(policy))
    enforcer.add_named_domain_matching_func("g", lambda asked, known: known in ("*", asked))
    enforcer.build_role_links()
    return lambda asked: bool(enforcer.enforce(asked.role, asked.tenant, asked.obj, asked.act))


def cedar_engine(rules: int, roles: set[str]) -> Decide:
    """Cedar with its policies and entities parsed once: a policy a row, tenants and roles as parents."""
    policies = cedarpy.PolicySet.from_str("\n".join(_cedar(line.split(", ")) for line in rows(rules)))
    entities = cedarpy.Entities.from_json_str(json.dumps(_entities(roles)))

    def decide(asked: Request) -> bool:
        question = {
            "principal": f'Role::"{asked.role}"',
            "action": f'Action::"{asked.act}"',
            "resource": f'Thing::"{asked.obj}"',
            "context": {"tenant": asked.tenant, "obj": asked.obj},
        }
        return cedarpy.is_authorized(question, policies, entities).allowed

    return decide


def _cedar(line: list[str]) -> str:
    _, sub, dom, obj, act, eft, *_ = line
    effect = "permit" if eft == "allow" else "forbid"
    principal = f'principal in Role::"{sub}"' if ":" not in sub else f'principal == Subject::"{sub}"'
    resource = "resource" if obj.endswith("*") else f'resource == Thing::"{obj}"'
    conditions = [f'context.tenant == "{dom}"'] if dom != "*" else []
    conditions += [f'context.obj like "{obj}"'] if obj.endswith("*") else []
    when = f" when {{ {' && '.join(conditions)} }}" if conditions else ""
    return f'{effect} ({principal}, action == Action::"{act}", {resource}){when};'


def _entities(roles: set[str]) -> list[dict[str, object]]:
    chain = [(f"step{number}", [f"step{number + 1}"]) for number in range(DEPTH)]
    flat = [(role, []) for role in [*roles - {"step0"}, f"step{DEPTH}"]]
    return [
        {
            "uid": {"type": "Role", "id": role},
            "attrs": {},
            "parents": [{"type": "Role", "id": each} for each in parents],
        }
        for role, parents in [*chain, *flat]
    ]


ENGINES = {"gatewright": our_engine, "pycasbin": pycasbin_engine, "cedarpy": cedar_engine}


def agree(decide: Decide, asked: dict[str, list[Request]]) -> None:
    """Every engine gives the answer that the rows give, at least once a kind."""
    for kind, each in asked.items():
        for request in each[:2]:
            if decide(request) is not request.allowed:
                raise SystemExit(f"{kind}: {request} is answered otherwise")


def timed(decide: Decide, asked: list[Request], seconds: float) -> list[float]:
    """Microseconds of single decisions, for about *seconds*, at least five of them."""
    clock, found = time.perf_counter_ns, []
    until = clock() + int(seconds * 1e9)
    while len(found) < 5 or clock() < until:
        for request in asked:
            began = clock()
            decide(request)
            found.append((clock() - began) / 1000)
            if clock() > until and len(found) >= 5:
                break
    return found


def measure(rules: int, names: list[str], seconds: float) -> dict[str, dict[str, float]]:
    """The median of each engine and kind at one size, kinds and engines taking turns; `all` is over every kind."""
    asked = requests(rules)
    roles = {each.role for kind in asked.values() for each in kind}
    engines: dict[str, Decide] = {}
    for name in names:
        began = time.perf_counter()
        engines[name] = ENGINES[name](rules, roles)
        agree(engines[name], asked)
        print(f"{rules:>9} rules: {name:<10} ready in {time.perf_counter() - began:7.2f} s", flush=True)
    gc.collect()
    times: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in asked} for name in engines}
    for _ in range(3):
        for kind in asked:
            for name, decide in engines.items():
                times[name][kind] += timed(decide, asked[kind], seconds / 3 / len(asked))
    medians = {}
    for name, kinds in times.items():
        medians[name] = {kind: statistics.median(found) for kind, found in kinds.items()}
        medians[name]["all"] = statistics.median(medians[name].values())
    return medians


def report(rules: int, medians: dict[str, dict[str, float]]) -> None:
    """Print one size."""
    for name, kinds in medians.items():
        told = "  ".join(f"{kind} {value:.2f}" for kind, value in kinds.items())
        print(f"{rules:>9} rules: {name:<10} p50 us: {told}", flush=True)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: without 1M rules for the peers")
    quick = parser.parse_args().quick
    names, medians = list(ENGINES), {}
    for rules in (10, 1_000, 100_000, 1_000_000):
        if quick and rules > 1_000:
            names = ["gatewright"]
        began = time.perf_counter()
        medians[rules] = measure(rules, names, 1.5 if quick else 6)
        report(rules, medians[rules])
        if time.perf_counter() - began > PATIENCE_S / 2:
            names = ["gatewright"]
    small, large = medians[1_000], medians[1_000_000]["gatewright"]["all"]
    ours = small["gatewright"]["all"]
    figures = {
        "decide_1k_p50_us": ours,
        "decide_1m_p50_us": large,
        "growth_1m_over_1k": large / ours,
        "ratio_pycasbin_1k": small["pycasbin"]["all"] / ours,
        "ratio_cedarpy_1k": small["cedarpy"]["all"] / ours,
        "reference_us": statistics.median(reference_us() for _ in range(2000)),
    }
    budgets = {
        "decide_1k_p50_us": "≤ 2.5",
        "decide_1m_p50_us": "≤ 5",
        "growth_1m_over_1k": "≤ 3",
        "ratio_pycasbin_1k": "≥ 5000",
        "ratio_cedarpy_1k": "≥ 1000",
    }
    for name, value in figures.items():
        print(f"{name:>20} {value:12.3f}  {budgets.get(name, '')}")
    print(json.dumps({"bench": "decide", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
