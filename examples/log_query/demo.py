"""
A walk through one guarded tool, for a person to follow: `make demo`.

Builds the log store, makes keys and tokens on the spot, then shows each role's schema, calls that succeed, fail and are
refused, what changes while a call waits, and how the events are read.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import ROOT, open_app
from records import NOW, build_store, real_lines
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax

from gatewright import Guard
from gatewright.testing import FakeClock, FakeIssuer

console = Console(highlight=False)
HOUR = {"start": "2026-11-30T10:00:00Z", "end": "2026-11-30T11:00:00Z", "limit": 3}


class Walk:
    """The demo's state: one guard, one clock, two issuers' keys and the tokens of three roles in two tenants."""

    def __init__(self, home: Path) -> None:
        self.policies = home / "policies"
        shutil.copytree(ROOT / "policies", self.policies)
        self.clock = FakeClock(NOW.timestamp())
        options = {"issuer": "https://login.example", "audience": "tools", "tenant_claim": "org", "clock": self.clock}
        self.rsa = FakeIssuer(algorithm="RS256", **options)
        self.eddsa = FakeIssuer(algorithm="EdDSA", **options)
        keys = {"keys": [*self.rsa.jwks()["keys"], *self.eddsa.jwks()["keys"]]}
        (self.policies / "keys.json").write_text(json.dumps(keys))
        self.waiting: Callable[[], None] = lambda: None
        self.guard = self._open(home)
        self.tokens = {
            "viewer": self.rsa.token(sub="vic", tenant="acme", roles=["viewer"]),
            "analyst": self.eddsa.token(sub="ann", tenant="acme", roles=["analyst"]),
            "oncall": self.rsa.token(sub="olu", tenant="acme", roles=["oncall"]),
            "globex viewer": self.eddsa.token(sub="gil", tenant="globex", roles=["viewer"]),
        }

    def _open(self, home: Path) -> Guard:
        def after_the_decision(call: Any) -> None:
            self.waiting()

        return open_app(
            home / "logs.db",
            self.policies,
            clock=self.clock,
            journal=f"sqlite:///{home / 'events.db'}",
            ledger=f"sqlite:///{home / 'ledger.db'}",
            keys=secrets.token_hex(32),
            after_authorize=[after_the_decision],
        )

    def call(self, role: str, tool: str = "logs.query", **arguments: Any) -> Any:
        """One call as a model would make it: the arguments as JSON text."""
        return self.guard.call(tool, json.dumps(arguments), token=self.tokens[role])


def main() -> None:
    """Walk through it, top to bottom."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gatewright-demo-") as folder:
        home = Path(folder)
        store(home)
        walk = Walk(home)
        with walk.guard:
            chain(walk)
            schemas(walk)
            calls(walk)
            refusals(walk)
            while_it_waits(walk)
            events(walk)
    console.print(f"\nDone in {time.monotonic() - began:.1f} s.")


def store(home: Path) -> None:
    """The backend."""
    console.rule("1. A store of log lines")
    pip_log = ROOT / ".venv" / "pip.log"
    counts = build_store(home / "logs.db", pip_log if pip_log.exists() else None)
    for source, count in sorted(counts.items()):
        origin = "topped up by a seeded generator" if source == "generator" else "really logged on this machine"
        console.print(f"  {count:>8,} lines from {source:<10} {origin}")
    console.print(f"  {counts.total():>8,} lines in all")


def chain(walk: Walk) -> None:
    """The way of a call."""
    console.rule("2. The chain every call walks")
    console.print(str(walk.guard.chain), markup=False)


def schemas(walk: Walk) -> None:
    """What each role's model is shown."""
    console.rule("3. One tool, three roles, three schemas")
    panels = []
    for role in ("viewer", "analyst", "oncall"):
        listed = walk.guard.tools(walk.tokens[role])
        shown = next(tool["parameters"] for tool in listed if tool["name"] == "logs.query")
        body = Syntax(json.dumps(_essence(shown), indent=1), "json", background_color="default", word_wrap=True)
        panels.append(Panel(body, title=f"{role}: {', '.join(tool['name'] for tool in listed)}", width=48))
    console.print(Columns(panels))


def calls(walk: Walk) -> None:
    """Calls of a caller who may."""
    console.rule("4. Calls")
    at = next((line.at for line in real_lines(None)), None)
    if at is not None:
        show(
            "real lines of the package manager",
            walk.call(
                "analyst",
                service="package-manager",
                start=at,
                end=f"{at[:11]}23:59:59Z" if at[11:13] == "23" else f"{at[:11]}{int(at[11:13]) + 1:02}{at[13:]}",
                limit=2,
            ),
        )
    show("succeeds, cut to the role", walk.call("viewer", service="inventory", **HOUR))
    empty = {**HOUR, "start": "2020-01-01T00:00:00Z", "end": "2020-01-01T01:00:00Z"}
    show("honestly empty: ok, with no items", walk.call("viewer", service="inventory", **empty))
    wrong = {**HOUR, "start": HOUR["end"], "end": HOUR["start"]}
    result = walk.call("viewer", service="inventory", **wrong)
    show("the wrong way round", result)
    console.print(f"    to the model: [italic]{result.to_json()['errors'][0]['message']}[/]")
    show("repaired by the model", walk.call("viewer", service="inventory", **HOUR))


def refusals(walk: Walk) -> None:
    """Four ways of asking for what is not there, and one answer."""
    console.rule("5. Refusals: the same bytes, whatever does not exist for you")
    asked = {
        "a foreign service": walk.call("viewer", service="storefront", **HOUR),
        "a made-up service": walk.call("viewer", service="no-such-service", **HOUR),
        "a hidden tool": walk.call("viewer", "alerts.mute", alert_id="a1", minutes=5),
        "a made-up tool": walk.call("viewer", "no.such.tool", anything=1),
    }
    for what, result in asked.items():
        show(what, result)
    console.print(f"    all four equal: {len({result.to_bytes() for result in asked.values()}) == 1}")
    show("absent, to one who may see every service of the tenant", walk.call("oncall", service="nothing", **HOUR))


def while_it_waits(walk: Walk) -> None:
    """The world changes between the decision and the execution."""
    console.rule("6. Between decision and execution")
    short = walk.rsa.token(sub="vic", tenant="acme", roles=["viewer"], lifetime=60)
    walk.tokens["short"] = short
    walk.waiting = lambda: walk.clock.advance(120)
    show("the token expires while the call waits", walk.call("short", service="inventory", **HOUR))
    walk.waiting = lambda: withdraw(walk)
    show("the grant is withdrawn while the call waits", walk.call("viewer", service="inventory", **HOUR))
    walk.waiting = lambda: None


def withdraw(walk: Walk) -> None:
    """Take the viewer's grant on `inventory` out of the policy file, as a security engineer would, and reload."""
    file = walk.policies / "tenants" / "acme" / "policy.csv"
    rows = [row for row in file.read_text().splitlines() if "service:inventory" not in row]
    file.write_text("\n".join(rows) + "\n")
    walk.guard.reload()


def events(walk: Walk) -> None:
    """What the log holds of it."""
    console.rule("7. Events: every call can be told back")
    walk.call("analyst", service="package-manager", **HOUR)
    console.print(walk.guard.story(walk.guard.last_call_id or ""), markup=False)
    console.print("    from a shell, where the stores are kept: [bold]gatewright events show CALL[/]")


def show(what: str, result: Any) -> None:
    """One line a call: what was tried and the bytes that came back."""
    text = result.to_bytes().decode()
    console.print(f"  {what}\n    {text if len(text) < 400 else text[:400] + ' …'}", markup=False)


def _essence(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in schema.items()
        if key in ("properties", "anyOf", "required", "additionalProperties")
    }


if __name__ == "__main__":
    main()
