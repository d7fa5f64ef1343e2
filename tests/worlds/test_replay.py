"""Every recorded call of a real model is judged and answered on its own: 361 of 361, as the reference expects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from gatewright import Guard, Resource
from gatewright.testing import FakeClock, FakeIssuer
from reference.decide import decide
from reference.folder import read_policies
from shared_data import shared
from worlds.reader import World
from worlds.shelf import world_named

TENANT = "skyair"
AGENT = {"subject": "adam", "tenant": TENANT, "roles": ["agent"], "claims": {}, "actor": None}
RETURNED = {"get_user_details": {"name": "S", "email": "s@x.y", "dob": "1990-01-01", "payment_methods": []}}


class Recorded(NamedTuple):
    """One recorded call: the arguments are the string that the model wrote, the id may come again."""

    episode: int
    sequence: int
    call_id: str
    tool: str
    arguments: str


def recorded_calls() -> list[Recorded]:
    """All recorded calls, in order."""
    lines = shared("data/tau-bench/airline-calls.jsonl").read_text("utf-8").splitlines()
    return [Recorded(**json.loads(line)) for line in lines]


def records_of(calls: list[Recorded]) -> dict[str, dict[str, Any]]:
    """The records that the calls speak of, all in one tenant; an episode's things belong to the user it names first."""
    things: dict[str, dict[str, Any]] = {}
    owners: dict[int, str] = {}
    for call in calls:
        arguments = json.loads(call.arguments)
        user = owners.setdefault(call.episode, arguments["user_id"]) if "user_id" in arguments else None
        owner = user or owners.get(call.episode, "somebody")
        things.setdefault(
            f"profile:{arguments.get('user_id', owner)}", {"tenant": TENANT, "user": owner, "active": True}
        )
        paid = [arguments.get("payment_id"), *(each["payment_id"] for each in arguments.get("payment_methods", []))]
        for payment in filter(None, paid):
            things.setdefault(f"payment:{payment}", {"tenant": TENANT, "user": owner, "balance": 100_000})
        if "reservation_id" in arguments:
            things.setdefault(
                f"reservation:{arguments['reservation_id']}",
                {
                    "tenant": TENANT,
                    "user": owner,
                    "cabin": "economy",
                    "passengers": len(arguments.get("passengers", [0])),
                    "flown": False,
                    "cancellable": True,
                },
            )
    return things


class Desk:
    """The world's 14 tools behind its policies, over fixed records; the bodies write down that they ran."""

    def __init__(self, world: World, things: Mapping[str, Mapping[str, Any]]) -> None:
        self.world = world
        self.policies = read_policies(world.texts)
        self.things = things
        self.ran: Counter[str] = Counter()
        clock = FakeClock(world.now.timestamp())
        issuer = FakeIssuer("https://login.air", "desk", "RS256", tenant_claim="airline", clock=clock)
        texts = {**world.texts, "keys.json": json.dumps(issuer.jwks())}
        self.guard = Guard(texts, clock=clock, keys="k" * 32)
        self.token = issuer.token(sub="adam", tenant=TENANT, roles=["agent"])
        for name, spec in world.catalog.items():
            self._add(name, spec)

    def _add(self, name: str, spec: Mapping[str, Any]) -> None:
        resources = {
            each: Resource(
                declared["type"],
                declared["at"],
                load=self._loader(declared["type"]),
                scope=declared["scope"],
                attributes=declared.get("attributes"),
            )
            for each, declared in spec.get("resources", {}).items()
        }

        def body(**arguments: Any) -> Any:
            self.ran[name] += 1
            return RETURNED.get(name)

        facts = {fact: self.world.facts[fact] for fact in spec.get("facts", {})}
        words = {"use_when": "the customer asks for it", "not_for": "anything else", "description": spec["description"]}
        self.guard.tool(
            name,
            kind=spec["kind"],
            action=spec["action"],
            schema=spec["schema"],
            resources=resources,
            facts=facts,
            result=spec.get("result"),
            **words,
        )(body)

    def _loader(self, kind: str) -> Any:
        def load(identity: str, tenant: str) -> Mapping[str, Any] | None:
            record = self.things.get(f"{kind}:{identity}")
            return record if record is not None and record["tenant"] == tenant else None

        return load

    def answer(self, call: Recorded) -> dict[str, Any]:
        """The result of one recorded call, sent as the model wrote it."""
        return self.guard.call(
            call.tool,
            call.arguments,
            token=self.token,
            call_id=call.call_id,
            interaction=f"episode {call.episode}",
        ).to_json()


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """The airline's desk, its tools as recorded, its policies as shared."""
    shared("worlds/airline")
    desk = Desk(world_named("airline"), records_of(recorded_calls()))
    with desk.guard:
        yield desk


def status_of(answer: Mapping[str, Any]) -> str:
    """A result's status in the worlds' words."""
    return "rate_limited" if answer.get("code") == "rate_limited" else str(answer["status"])


def expected_of(desk: Desk, call: Recorded, used: Mapping[str, Any]) -> str:
    """What the reference says of one recorded call."""
    world = desk.world
    answer = decide(
        desk.policies,
        world.catalog,
        AGENT,
        call.tool,
        call.arguments,
        now=world.now,
        things=desk.things,
        facts=world.facts,
        used=used,
    )
    return str(answer["status"])


@pytest.mark.case(81)
def test_every_recorded_call_is_answered_on_its_own(desk: Desk) -> None:
    """361 results as expected, each with its own events, whatever ids come again inside an episode."""
    calls = recorded_calls()
    used: dict[str, dict[str, float]] = {}
    seen: set[str] = set()
    outcomes: Counter[tuple[str, str]] = Counter()
    ids: Counter[tuple[int, str]] = Counter((call.episode, call.call_id) for call in calls)
    for call in calls:
        expected = expected_of(desk, call, used)
        before = desk.ran[call.tool]
        status = status_of(desk.answer(call))
        assert status == expected, call
        assert desk.ran[call.tool] - before == (status == "ok"), call
        own = desk.guard.last_call_id
        events = desk.guard.events(own or "")
        assert own not in seen
        assert [event.kind for event in events].count("call_answered") == 1
        assert {event.model_call for event in events} == {call.call_id}
        seen.add(own or "")
        outcomes[call.tool, status] += 1
        if status == "ok" and call.tool == "send_certificate":
            spent = used.setdefault(call.tool, {"calls": 0, "sum": 0})
            spent["calls"] += 1
            spent["sum"] += json.loads(call.arguments)["amount"]
    assert len(seen) == len(calls) == 361
    assert sum(count > 1 for count in ids.values()) == 25
    ok = {tool for tool, status in outcomes if status == "ok"}
    assert ok == {call.tool for call in calls}
