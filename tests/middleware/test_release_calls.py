"""Results of guarded calls: each role gets its cut of one value, and a withheld value never looks like an empty one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from gatewright import Guard, KeyRing, Page
from gatewright.middleware.sentences import POLICY_NOTE
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CLOCK = FakeClock()
ISSUER = FakeIssuer(algorithm="EdDSA", clock=CLOCK)
POLICIES = {
    "names.yaml": "roles: { doctor: {}, clerk: {}, student: {}, auditor: {} }\ntenants: { ward: {}, clinic: {} }\n",
    "policy.csv": "".join(
        f"p, {role}, *, patients.list, call, allow\n" for role in ("doctor", "clerk", "student", "auditor")
    ),
    "identity.yaml": json.dumps({"issuers": [ISSUER.profile(["ward", "clinic"])]}),
    "tools/patients.yaml": """
tool: patients.list
refusal: Too few patients to show anything.
allow:
  - { id: doctor, roles: [doctor], arguments: { cursor: {} } }
  - id: clerk
    roles: [clerk]
    result: { hidden: [/items/*/finding], mask: { /items/*/card: last4, /items/*/born: year } }
  - id: student
    roles: [student]
    result:
      keep: { /items: { consent: { const: true } } }
      show: [/items/*/finding, /items/*/name]
      mask: { /items/*/name: hash }
      rows: 1
  - { id: auditor, roles: [auditor], result: { only_if: { as_of: { minLength: 1 } } } }
""",
}


class Patient(BaseModel):
    """A row."""

    name: str
    born: str
    card: str
    finding: str
    consent: bool


AMY = Patient(name="Amy", born="1987-05-01", card="4111111111111111", finding="s3cret", consent=True)
BO = Patient(name="Bo", born="1990-01-01", card="42", finding="fine", consent=False)
CY = Patient(name="Cy", born="2001-01-01", card="4222222222222222", finding="fine", consent=True)


class Desk:
    """A guard with one tool whose value the test sets."""

    def __init__(self) -> None:
        self.journal = ListJournal()
        self.value: object = Page[Patient](items=[AMY, BO, CY], next_cursor="c")
        self.guard = Guard(
            POLICIES,
            journal=self.journal,
            clock=CLOCK,
            keys=KeyRing.from_secret("k" * 32),
            ledger=":memory:",
            watch=False,
        )

        @self.guard.tool("patients.list", kind="read", use_when="Patients are asked for.", not_for="Anything else.")
        def list_patients(cursor: str | None = None) -> Page[Patient]:
            """List patients."""
            return self.value  # type: ignore[return-value]

    def ask(self, role: str, tenant: str = "ward") -> dict[str, object]:
        """What a caller of *role* hears."""
        return dict(self.guard.call("patients.list", "{}", token=ISSUER.token(role, tenant, [role])).to_json())

    def told(self) -> dict[str, object]:
        """The last `result_validated` event."""
        return [dict(event.fields) for event in self.journal.events() if event.kind == "result_validated"][-1]


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A guard, closed afterwards."""
    made = Desk()
    yield made
    made.guard.close()


@pytest.mark.promise("P2")
def test_each_role_gets_its_cut_of_one_value(desk: Desk) -> None:
    """The doctor all, the clerk masked, the student one consenting row under a pseudonym."""
    doctor = desk.ask("doctor")
    assert doctor.pop("next_cursor") not in (None, "c")
    whole = [each.model_dump() for each in (AMY, BO, CY)]
    assert doctor == {"status": "ok", "items": whole, "truncated": False}
    clerk = desk.ask("clerk")
    assert clerk["items"] == [
        {"name": "Amy", "born": "1987", "card": "************1111", "consent": True},
        {"name": "Bo", "born": "1990", "card": "**", "consent": False},
        {"name": "Cy", "born": "2001", "card": "************2222", "consent": True},
    ]
    student = desk.ask("student")
    (row,) = student["items"]  # type: ignore[misc]
    assert row["finding"] == "s3cret"
    assert len(row["name"]) == 64
    assert (student["truncated"], student["filtered"], student["next_cursor"]) == (True, True, None)
    assert desk.told()["items"] == 1


@pytest.mark.promise("P12")
def test_a_hash_differs_between_tenants(desk: Desk) -> None:
    """So two tenants cannot join their rows."""
    assert desk.ask("student")["items"] == desk.ask("student")["items"] != desk.ask("student", "clinic")["items"]


@pytest.mark.promise("P5")
@pytest.mark.case(73)
def test_only_if_forbids_with_the_constant_and_the_tool_s_sentence(desk: Desk) -> None:
    """The bytes are those of every refusal; the sentence is for the model alone, the reason for the event log alone."""
    result = desk.guard.call("patients.list", "{}", token=ISSUER.token("eve", "ward", ["auditor"]))
    assert result.to_bytes() == b'{"status":"forbidden","retryable":false}'
    message = json.dumps(result.to_message("openai", "c"))
    assert "Too few patients to show anything." in message
    assert POLICY_NOTE[0] in message
    assert desk.told()["reason"] == "only_if"
    hidden = desk.guard.call("patients.erase", "{}", token=ISSUER.token("eve", "ward", ["auditor"]))
    assert hidden.to_bytes() == result.to_bytes()
    assert "Too few" not in json.dumps(hidden.to_message("openai", "c"))


@pytest.mark.promise("P5")
@pytest.mark.parametrize("value", [None, [], {"items": []}, {"items": [{"name": "Amy"}]}, object(), "s3cret"])
def test_a_value_of_the_wrong_shape_is_withheld_and_not_empty(desk: Desk, value: object) -> None:
    """And nothing of it is in the answer or the events."""
    desk.value = value
    assert desk.ask("student") == {
        "status": "failed",
        "code": "invalid_result",
        "effect": "none",
        "retryable": False,
        "retry_after": None,
        "next": "ask_human",
    }
    assert desk.told()["outcome"] == "withheld"
    assert "s3cret" not in json.dumps([dict(event.fields) for event in desk.journal.events()], default=str)


def test_an_empty_page_stays_an_honest_one(desk: Desk) -> None:
    """Three fields, and the constant mark of the entry."""
    desk.value = Page[Patient](items=[])
    assert desk.ask("doctor") == {"status": "ok", "items": [], "next_cursor": None, "truncated": False}
    empty = {"status": "ok", "items": [], "next_cursor": None, "truncated": False, "filtered": True}
    assert desk.ask("student") == empty
    desk.value = Page[Patient](items=[BO])
    assert desk.ask("student") == empty
