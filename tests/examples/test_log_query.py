"""The log-query tool of the demo: its base schema, its contract, the nine boundaries and the step that stops each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app import ROOT, open_app
from records import LINES, NOW, build_store

from gatewright import Guard
from gatewright.middleware.record import Event
from gatewright.testing import FakeClock, FakeIssuer

GOLDEN = Path(__file__).with_name("log_query_schema.json")
GOOD: dict[str, Any] = {
    "service": "inventory",
    "start": "2026-11-30T10:00:00Z",
    "end": "2026-11-30T11:00:00Z",
    "limit": 20,
}


class Desk:
    """The demo's tools behind the shipped policies, with a viewer, an on-call engineer and a clock."""

    def __init__(self, guard: Guard, issuer: FakeIssuer) -> None:
        self.guard = guard
        self.viewer = issuer.token(sub="vic", tenant="acme", roles=["viewer"])
        self.oncall = issuer.token(sub="olu", tenant="acme", roles=["oncall"])

    def ask(self, arguments: dict[str, Any] | str, tool: str = "logs.query", who: str = "viewer") -> dict[str, Any]:
        """The result of one call as JSON; arguments are sent as text."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return self.guard.call(tool, text, token=getattr(self, who)).to_json()

    def events(self) -> dict[str, Event]:
        """The events of the last call, by kind."""
        return {event.kind: event for event in self.guard.events(self.guard.last_call_id or "")}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's log store."""
    path = tmp_path_factory.mktemp("logs") / "logs.db"
    counts = build_store(path)
    assert counts.total() == LINES >= 100_000
    return path


@pytest.fixture(scope="module")
def desk(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One guard over the shipped policies; each call is an interaction of its own."""
    tmp_path = tmp_path_factory.mktemp("desk")
    policies = tmp_path / "policies"
    shutil.copytree(ROOT / "policies", policies)
    clock = FakeClock(NOW.timestamp())
    issuer = FakeIssuer(tenant_claim="org", clock=clock)
    (policies / "keys.json").write_text(json.dumps(issuer.jwks()))
    stores = {"journal": f"sqlite:///{tmp_path / 'events.db'}", "ledger": f"sqlite:///{tmp_path / 'ledger.db'}"}
    with open_app(store, policies, clock=clock, keys="k" * 32, watch=False, **stores) as guard:
        yield Desk(guard, issuer)


def without(name: str) -> dict[str, Any]:
    """Good arguments without one."""
    return {key: value for key, value in GOOD.items() if key != name}


def stopped_by(desk: Desk, step: str) -> bool:
    """Whether *step* answered the call, and its body was never entered."""
    events = desk.events()
    return events["call_answered"].fields["step"] == step and "execution_started" not in events


def test_the_base_schema_is_exactly_the_contract(desk: Desk) -> None:
    """Service, start, end, limit: all required, closed, nothing else."""
    catalog = json.loads(desk.guard.catalog()["catalog/logs.query.json"])
    assert catalog["schema"] == json.loads(GOLDEN.read_text("utf-8"))


def test_the_committed_catalog_is_what_the_code_says(desk: Desk) -> None:
    """A stale file would quarantine the tool."""
    for path, text in desk.guard.catalog().items():
        assert (ROOT / "policies" / path).read_text("utf-8") == text


def test_a_good_call_is_answered_with_rows_cut_to_the_role(desk: Desk) -> None:
    """A viewer sees no client address; an on-call engineer does."""
    viewed, full = desk.ask(GOOD), desk.ask(GOOD, who="oncall")
    assert viewed["status"] == full["status"] == "ok"
    assert 0 < len(viewed["items"]) <= 20
    assert all("client_ip" not in item for item in viewed["items"])
    assert all("client_ip" in item for item in full["items"])


def test_an_honestly_empty_answer_is_ok_with_no_items(desk: Desk) -> None:
    """Nothing was logged then; that is not a refusal."""
    asked = {**GOOD, "start": "2020-01-01T00:00:00Z", "end": "2020-01-01T01:00:00Z"}
    assert desk.ask(asked) == {"status": "ok", "items": [], "next_cursor": None, "truncated": False}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_boundary_1_a_missing_field_stops_at_validate(desk: Desk, name: str) -> None:
    """Each of the four is required."""
    answer = desk.ask(without(name))
    assert (answer["status"], answer["field"], answer["reason"]) == ("invalid_arguments", f"/{name}", "missing")
    assert stopped_by(desk, "validate")


@pytest.mark.parametrize("extra", ["tenant", "user_id", "_meta", "made_up"])
@pytest.mark.case(47)
def test_boundary_2_an_extra_field_stops_at_validate(desk: Desk, extra: str) -> None:
    """Closed means closed, and identity never comes from arguments."""
    answer = desk.ask({**GOOD, extra: "globex"})
    assert (answer["status"], answer["field"]) == ("invalid_arguments", f"/{extra}")
    assert answer["reason"] == "unknown_argument"
    assert stopped_by(desk, "validate")


@pytest.mark.case(59)
def test_boundary_3_a_duplicate_field_stops_at_decode(desk: Desk) -> None:
    """Also when the two spellings differ only by an escape."""
    text = json.dumps(GOOD)
    for doubled in (text[:-1] + ', "limit": 5}', text[:-1] + ', "l\\u0069mit": 5}'):
        answer = desk.ask(doubled)
        assert (answer["status"], answer["errors"][0]["layer"]) == ("invalid_arguments", "syntax")
        assert answer["reason"] == "duplicate_key"
        assert stopped_by(desk, "decode")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("limit", True, "wrong_type"),
        ("limit", 20.0, "wrong_type"),
        ("limit", "20", "wrong_type"),
        ("limit", 0, "too_small"),
        ("limit", 201, "too_large"),
        ("service", "", "too_short"),
    ],
)
def test_boundary_4_values_outside_the_contract_stop_at_validate(
    desk: Desk, name: str, value: object, reason: str
) -> None:
    """A boolean is no integer, nor is 20.0; bounds hold; an empty service is none."""
    answer = desk.ask({**GOOD, name: value}, who="oncall")
    assert (answer["status"], answer["field"], answer["reason"]) == ("invalid_arguments", f"/{name}", reason)
    assert stopped_by(desk, "validate")


@pytest.mark.parametrize(
    "time",
    [
        "2026-02-30T10:00:00Z",
        "2026-11-30T10:00:00",
        "2026-11-30T10:00:00+01:00",
        "2026-11-30T10:00:00.5Z",
        "2026-11-30 10:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T10:00:00Z\n",
        "tomorrow",
    ],
)
@pytest.mark.parametrize("name", ["start", "end"])
def test_boundary_5_an_impossible_time_stops_at_the_rule(desk: Desk, name: str, time: str) -> None:
    """Exactly YYYY-MM-DDTHH:MM:SSZ, and a day that exists."""
    answer = desk.ask({**GOOD, name: time})
    assert (answer["status"], answer["field"], answer["reason"]) == (
        "invalid_arguments",
        f"/{name}",
        "not_a_utc_second",
    )
    assert answer["errors"][0]["layer"] == "business"
    assert time not in json.dumps(answer, ensure_ascii=False)
    assert stopped_by(desk, "validate")


@pytest.mark.parametrize("end", ["2026-11-30T10:00:00Z", "2026-11-30T09:59:59Z"])
def test_boundary_6_times_that_are_equal_or_reversed_stop_at_the_rule(desk: Desk, end: str) -> None:
    """Start strictly before end."""
    answer = desk.ask({**GOOD, "end": end})
    assert (answer["field"], answer["reason"]) == ("/end", "must_follow_start")
    assert stopped_by(desk, "validate")


def test_boundary_7_a_span_over_the_setting_stops_at_the_rule(desk: Desk) -> None:
    """One hour passes, one second more does not."""
    assert desk.ask({**GOOD, "end": "2026-11-30T11:00:00Z"})["status"] == "ok"
    answer = desk.ask({**GOOD, "end": "2026-11-30T11:00:01Z"})
    assert (answer["field"], answer["reason"]) == ("/end", "span_too_long")
    assert stopped_by(desk, "validate")


@pytest.mark.parametrize("service", ["storefront", "payments", "no-such-service", "inventory*"])
@pytest.mark.promise("P4")
def test_boundary_8_a_foreign_service_stops_at_validate_with_the_constant(desk: Desk, service: str) -> None:
    """Another tenant's, one not granted, one made up: the same bytes."""
    assert desk.ask({**GOOD, "service": service}) == {"status": "forbidden", "retryable": False}
    assert stopped_by(desk, "validate")


def test_boundary_9_authority_is_judged_before_times(desk: Desk) -> None:
    """A call that breaks both says nothing about its times."""
    both = {**GOOD, "service": "storefront", "start": GOOD["end"], "end": GOOD["start"]}
    assert desk.ask(both) == {"status": "forbidden", "retryable": False}
    assert stopped_by(desk, "validate")


@pytest.mark.case(70)
@pytest.mark.promise("P4")
@pytest.mark.parametrize("arguments", ["{}", "", "{not json", json.dumps(GOOD)])
def test_hidden_and_made_up_tools_are_one_whatever_was_sent(desk: Desk, arguments: str) -> None:
    """No schema is consulted: malformed arguments to a hidden tool give the constant."""
    hidden, made_up = desk.ask(arguments, "alerts.mute"), desk.ask(arguments, "no.such.tool")
    assert hidden == made_up == {"status": "forbidden", "retryable": False}
    assert stopped_by(desk, "admit")


def test_absent_is_told_only_to_who_may_see_everything(desk: Desk) -> None:
    """An on-call engineer may read every service of the tenant; a viewer may not."""
    asked = {**GOOD, "service": "nothing"}
    assert desk.ask(asked, who="oncall")["status"] == "not_found"
    assert desk.ask(asked)["status"] == "forbidden"
