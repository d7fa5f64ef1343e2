"""
What does a role schema cost: to build, to look up, to list and to validate against?

One tool of 50 fields, cold for each new caller and warm for one; the tools of a caller who has 200; and the validation
of small, nested and wide arguments beside bare jsonschema, jsonschema-rs and fastjsonschema, all in one run. Prints
medians and ratios, and one JSON line last.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import fastjsonschema
import jsonschema
import jsonschema_rs
from _timing import reference, timed

from gatewright import Guard
from gatewright.policy.caller import Caller
from gatewright.policy.dialect import check_schema, compile_schema
from gatewright.policy.folder import load_policies
from gatewright.policy.model import ToolSpec
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source
from gatewright.policy.view import caller_key
from gatewright.testing import FakeIssuer

TODAY = dt.date(2026, 9, 30)
NAMES = "roles: { reader: {} }\nactors: []\ntenants: { acme: {} }\ntypes: {}\ndelegate: {}\n"
KINDS: tuple[dict[str, Any], ...] = (
    {"type": "string", "maxLength": 80},
    {"type": "integer", "minimum": 0, "maximum": 1000},
    {"type": "string", "enum": ["a", "b", "c", "d"]},
    {"type": "number", "minimum": 0},
    {"type": "boolean"},
)
CUTS: tuple[dict[str, Any], ...] = ({"maxLength": 40}, {"maximum": 50}, {"enum": ["a", "b"]}, {"maximum": 10.5}, {})
VALUES = ("some text", 7, "a", 1.5, True)
FIELDS = 50
NARROWED = 12
TOOLS = 200


def closed(properties: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """An object of the dialect."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **rest}


WIDE = closed({f"f{n}": KINDS[n % len(KINDS)] for n in range(FIELDS)}, required=[f"f{n}" for n in range(0, FIELDS, 2)])
SMALL = closed(
    {
        "service": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 40},
        "start": {"type": "string", "format": "date-time"},
        "end": {"type": "string", "format": "date-time"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    },
    required=["service", "start", "end"],
)
LINE = closed({"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}, "tax": {"type": "number"}})
NESTED = closed(
    {"order": closed({"lines": {"type": "array", "items": LINE, "maxItems": 20}, "note": {"type": "string"}})}
)
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "small": (
        SMALL,
        {"service": "inventory", "start": "2026-11-30T10:00:00Z", "end": "2026-11-30T11:00:00Z", "limit": 20},
    ),
    "nested": (NESTED, {"order": {"lines": [{"sku": "a-1", "count": 2, "tax": 0.5}] * 10, "note": "soon"}}),
    "fields_50": (WIDE, {f"f{n}": VALUES[n % len(VALUES)] for n in range(FIELDS)}),
}


def open_snapshot(narrowed: int) -> Snapshot:
    """A tool of 50 fields, all shown, *narrowed* of them narrowed by an entry and one more by a limit."""
    arguments = {f"f{n}": CUTS[n % len(CUTS)] if n < narrowed else {} for n in range(FIELDS)}
    tool = {
        "tool": "form.fill",
        "limits": [{"id": "all", "arguments": {"f1": {"maximum": 40}}}],
        "allow": [{"id": "one", "roles": ["reader"], "arguments": arguments}],
    }
    texts = {
        "names.yaml": NAMES,
        "policy.csv": "p, reader, *, form.fill, call, allow\n",
        "identity.yaml": json.dumps({"issuers": [FakeIssuer().profile(["acme"])]}),
        "tools/form.yaml": json.dumps(tool),
    }
    spec = ToolSpec("form.fill", "read", "read", "Fill.", "asked", "else", check_schema(WIDE, where="form.fill"))
    return compile_snapshot(load_policies(Source.from_texts(texts), {"form.fill": spec}))


def callers(count: int) -> list[Caller]:
    """Callers as authentication resolves them, each for the first time."""
    found = [Caller(f"s{number}", "acme", frozenset({"reader"})) for number in range(count)]
    return [replace(caller, key=caller_key(caller)) for caller in found]


def view_runs(narrowed: int, count: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The role schema of a caller who comes for the first time, and of one who was here; compiling is not in it."""
    snapshot = open_snapshot(narrowed)
    (known,), new = callers(1), iter(callers(count))

    def build(caller: Caller) -> Any:
        view = snapshot.view(caller, "form.fill", TODAY)
        return None if view is None else view.schema

    build(known)
    return lambda: build(next(new)), lambda: build(known)


def open_guard(issuer: FakeIssuer) -> Guard:
    """A guard with 200 tools of four arguments, open to readers."""
    names = [f"shelf.read{number}" for number in range(TOOLS)]
    guard = Guard(
        {
            "names.yaml": NAMES,
            "identity.yaml": json.dumps({"issuers": [issuer.profile(["acme"])]}),
            "policy.csv": "".join(f"p, reader, *, {name}, call, allow\n" for name in names),
            "tools/shelf.yaml": "---\n".join(
                f"tool: {name}\nallow: [ {{ id: a, roles: [reader], arguments: {{ limit: {{ maximum: 50 }} }} }} ]\n"
                for name in names
            ),
        }
    )
    for name in names:

        def read(service: str, start: str, end: str, limit: int) -> str:
            """Read one shelf."""
            return service

        guard.tool(name, kind="read", use_when="a shelf is asked for", not_for="anything else")(read)
    return guard


def peers(schema: dict[str, Any]) -> dict[str, Callable[[Any], Any]]:
    """What validates by *schema*: ours as a call asks it, the decoder having told that no float is integral."""
    ours = compile_schema(check_schema(schema, where="bench"))
    return {
        "ours": lambda value: ours.accepts(value, integral_floats=False),
        "jsonschema_rs": jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid,
        "fastjsonschema": fastjsonschema.compile({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}),
        "jsonschema": jsonschema.Draft202012Validator(
            schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        ).is_valid,
    }


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    rounds, count = (10, 40) if parser.parse_args().quick else (40, 200)
    issuer = FakeIssuer()
    token = issuer.token(sub="amy", tenant="acme", roles=["reader"])
    cold, warm = view_runs(NARROWED, (rounds + 1) * count)
    cold_all, _ = view_runs(FIELDS, (rounds + 1) * count)
    with open_guard(issuer) as guard:
        runs: dict[str, tuple[Callable[[], Any], int]] = {
            "reference": (reference, 1),
            "cold": (cold, 1),
            "cold, all narrowed": (cold_all, 1),
            "warm": (warm, 20),
            "list 200": (lambda: guard.tools(token, format="openai"), 1),
        }
        for shape, (schema, value) in SHAPES.items():
            for peer, accepts in peers(schema).items():
                runs[f"{shape} {peer}"] = (lambda accepts=accepts, value=value: accepts(value)), 20
        times: dict[str, list[float]] = {name: [] for name in runs}
        for work, _ in runs.values():
            timed(work, count // 2)
        for _ in range(rounds):
            for name, (work, often) in runs.items():
                times[name] += timed(work, max(count * often // 2 // (20 if name == "list 200" else 1), 2))
    report({name: statistics.median(found) for name, found in times.items()})


def report(median: dict[str, float]) -> None:
    """Print a table and the JSON line."""
    for name, found in median.items():
        shape = name.rpartition(" ")[0]
        beside = f"  {found / median[f'{shape} ours']:8.2f} × ours" if f"{shape} ours" in median else ""
        print(f"{name:>24}: p50 {found:9.2f} us  {found / median['reference']:8.3f} × the reference loop{beside}")
    figures = {
        "schema_warm_us": median["warm"],
        "schema_cold_ms": median["cold"] / 1000,
        "schema_cold_all_narrowed_ms": median["cold, all narrowed"] / 1000,
        "list_200_ms": median["list 200"] / 1000,
        "validate_small_us": median["small ours"],
        "validate_nested_us": median["nested ours"],
        "validate_fields_50_us": median["fields_50 ours"],
        "ratio_jsonschema_small": median["small jsonschema"] / median["small ours"],
        "ratio_jsonschema_rs_small": median["small jsonschema_rs"] / median["small ours"],
        "ratio_fastjsonschema_small": median["small fastjsonschema"] / median["small ours"],
        "reference_us": median["reference"],
    }
    print(json.dumps({"bench": "schema", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
