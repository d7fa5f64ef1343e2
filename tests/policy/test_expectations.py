"""Test files are held to their shape and to the declared names; what they expect is judged elsewhere."""

from __future__ import annotations

from typing import get_args

from gatewright.middleware.outcome import Status
from gatewright.policy.errors import Place
from gatewright.policy.expectations import STATUSES, Expectations
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Findings, read_documents
from gatewright.policy.model import Delegation, Names
from gatewright.policy.toolfile import Entry, ToolPolicy

NAMES = Names(
    {"agent": frozenset(), "supervisor": frozenset()},
    frozenset({"copilot"}),
    frozenset({"zurich"}),
    {"transaction": frozenset({"refund"})},
    Delegation(),
    {},
    {},
)
POLICIES = {"refund.create": ToolPolicy("refund.create", allow=(Entry("small", Place("x"), ("agent",)),))}
SOUND = """\
now: "2026-10-28T09:00:00Z"
identities:
  amy: { tenant: zurich, roles: [agent], claims: { branch: zh1 } }
  bot: { like: amy, actor: { id: desk-bot, roles: [copilot] } }
things: { "transaction:t1": { tenant: zurich } }
calls:
  small: { tool: refund.create, arguments: { amount: 150 } }
  evening: { like: small, now: "2026-10-28T20:00:00Z" }
  made-up tool: { tool: no.such, nobody: true }
expect:
  amy: { small: { status: ok, entry: small }, evening: forbidden }
  bot: { small: { status: invalid_arguments, field: /amount } }
approve: { amy small: { bot: forbidden } }
same: [ [ amy evening, amy made-up tool ] ]
lists: { amy: [refund.create] }
schemas: { amy: { refund.create: { shows: [amount], lacks: [branch] } } }
"""


def faults(text: str, *, tools: frozenset[str] | None = frozenset({"refund.create"})) -> list[str]:
    """Code and line of what is wrong with *text*."""
    findings = Findings()
    reader = Reader(findings)
    for document in read_documents("tests/a.yaml", text.encode(), findings):
        Expectations(NAMES, {"branch": {}}, tools, POLICIES, reader).read(document)
    return [f"{each.code} {each.place.line}" for each in findings.all]


def test_a_sound_file_has_no_finding() -> None:
    """As POLICY.md writes them."""
    assert faults(SOUND) == []


def test_a_made_up_tool_is_called_on_purpose_only() -> None:
    """Else a misspelt tool would pass every test that expects a refusal."""
    assert faults(SOUND.replace(", nobody: true", "")) == ["unknown_tool 9"]
    assert faults(SOUND.replace(", nobody: true", ""), tools=None) == []


def test_one_wrong_name_is_one_finding() -> None:
    """Wherever it stands."""
    wrong = {
        "roles: [agent]": ("roles: [agnet]", "unknown_role 3"),
        "tenant: zurich, roles": ("tenant: zuric, roles", "unknown_tenant 3"),
        "{ branch: zh1 }": ("{ brunch: zh1 }", "unknown_claim 3"),
        "like: amy": ("like: any", "unknown_identity 4"),
        "[copilot]": ("[agent]", "unknown_actor 4"),
        "transaction:t1": ("transactions:t1", "unknown_type 5"),
        "like: small": ("like: smell", "unknown_call 8"),
        "entry: small": ("entry: smell", "unknown_entry 11"),
        "evening: forbidden": ("evening: forbiden", "unknown_status 11"),
        "field: /amount": ("feild: /amount", "unknown_key 12"),
        "amy small": ("amy smell", "unknown_call 13"),
        "{ bot: forbidden }": ("{ bott: forbidden }", "unknown_identity 13"),
        "amy evening, ": ("amy morning, ", "unknown_call 14"),
        "[refund.create]": ("[refund.creat]", "unknown_tool 15"),
        "shows: [": ("show: [", "unknown_key 16"),
    }
    for right, (fault, code) in wrong.items():
        assert faults(SOUND.replace(right, fault)) == [code], fault


def test_a_test_file_may_expect_every_status_of_a_result() -> None:
    """The one beside them stands for a failure by its code, which a spent budget is."""
    assert set(STATUSES) - set(get_args(Status)) == {"rate_limited"}
    assert set(get_args(Status)) <= set(STATUSES)
