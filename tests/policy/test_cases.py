"""Policy tests: what is listed comes out, what is not listed is forbidden, and a misspelt call passes nowhere."""

# ruff: noqa: E501

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from gatewright.policy.cases import Report, check_probes, run_tests
from gatewright.policy.catalog import spec_from_json
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source
from refund_policies import SPECS, TEST, TEXTS


class Computed:
    """The tool's own functions, where a test has them."""

    def rules(self, arguments: dict[str, Any], settings: Any) -> dict[str, Any]:
        """No rules."""
        return arguments

    def fact(self, name: str, arguments: Any) -> Any:
        """Amounts are in francs."""
        return arguments["amount"]


def snapshot_of(test: str) -> Snapshot:
    """The policies with *test* as their one test file."""
    words = {"description": "A tool.", "use_when": "Asked for.", "not_for": "Else."}
    catalog = {name: spec_from_json({"name": name, **words, **spec}) for name, spec in SPECS.items()}
    return compile_snapshot(load_policies(Source.from_texts({**TEXTS, "tests/desk.yaml": test}), catalog))


def run(test: str = TEST, **supplies: Any) -> Report:
    """The report of one test file."""
    return run_tests(snapshot_of(test), supplies)


def failed(test: str) -> dict[str, str]:
    """What is not as expected, by case."""
    return {each.case: "; ".join(map(str, each.mismatches)) for each in run(test).failures}


def test_a_whole_test_file_comes_out_as_it_says() -> None:
    """Identities, `like`, things, calls, results, approvals, sameness, lists and schemas."""
    report = run()
    assert [str(each) for each in report.failures] == []
    assert (report.files, report.cases) == (1, 4 * 12 + 12 + 2 + 4 + 2 + 1)


CHANGES = [
    ("status", "    tiny: ok\n    middle: { status: a", "    tiny: not_found\n    middle: { status: a", "amy tiny"),
    ("unlisted", "  sam: { vault: ok }\n", "", "sam vault"),
    ("entry", "status: ok, entry: small", "status: ok, entry: asked", "amy small"),
    ("stage", "forbidden, stage: context", "forbidden, stage: resource", "amy evening"),
    ("row", 'row: "policy.csv:9"', 'row: "policy.csv:8"', "amy locked"),
    ("row of an allow", 'row: "policy.csv:1"', 'row: "policy.csv:2"', "amy small"),
    ("field", "field: /amount,", "field: /note,", "bot small"),
    ("reason", "reason: amount_chf", "reason: too_large", "bot small"),
    ("code", "code: resource_state", "code: key_reused", "amy little left"),
    ("approvers", "by: [supervisor]", "by: [agent]", "amy middle"),
    ("count", "count: 1", "count: 2", "amy middle"),
    ("shown", "shows: [amount, note], lacks: [branch], row", "shows: [amount, brunch], lacks: [branch], row", "amy small"),
    ("not shown", "lacks: [branch], row", "lacks: [note], row", "amy small"),
    ("result", '"******4567"', '"0791234567"', "amy lookup"),
    ("approval", "sid: forbidden", "sid: ok", "amy middle, approved by sid"),
    ("approver", "sam: ok,", "sam: forbidden,", "amy middle, approved by sam"),
    ("same", "[ amy foreign, amy absent ]", "[ amy foreign, amy small ]", "amy foreign = amy small"),
    ("list", "sam: [vault.open]", "sam: [vault.open, refund.create]", "sam's list"),
    ("schema", "refund.create: { shows: [amount, note]", "refund.create: { shows: [amount, branch]", "amy's schema of refund.create"),
    ("nobody", "made-up: { tool: vault.melt, nobody: true }", "made-up: { tool: vault.open, nobody: true }", "made-up"),
    ("misspelt", "t2 }, nobody: true }", "t2 } }", "foreign"),
    ("nobody does", "lookup: { tool: customer.lookup,", "lookup: { nobody: true, tool: customer.lookup,", "lookup"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "case"), [pytest.param(*each[1:], id=each[0]) for each in CHANGES])
def test_one_thing_expected_otherwise_fails_by_its_name(old: str, new: str, case: str) -> None:
    """Every key of the format is looked at."""
    assert old in TEST
    assert case in failed(TEST.replace(old, new, 1))


@pytest.mark.parametrize("status", ["ok", "invalid_arguments", "not_found", "conflict"])
def test_what_is_not_listed_must_be_exactly_forbidden(status: str) -> None:
    """Not merely no success."""
    test = yaml.safe_load(TEST)
    listed = {who: calls for who, calls in test["expect"].items() if who != "bot"}
    found = failed(yaml.safe_dump({**test, "expect": listed}))
    assert "status: expected 'forbidden', got 'invalid_arguments'" in found["bot small"]
    assert found["bot tiny"] == "status: expected 'forbidden', got 'ok'"


def test_used_and_context_may_stand_with_an_expectation() -> None:
    """What is used already, and what the application declares, for one identity's call."""
    old = "small: { status: ok, entry: small,"
    assert "amy small" in failed(TEST.replace(old, "small: { status: ok, used: { refund.create: { calls: 20 } },"))


def test_a_fact_that_nobody_can_tell_fails_the_case_whatever_it_expects() -> None:
    """A refusal for want of a fact shows nothing."""
    test = TEST.replace("amount: 150 }, facts: { amount_chf: 150 } }", "amount: 150 } }")
    found = failed(test)
    assert found["amy small"] == "fact: expected 'amount_chf', got 'unknown'"
    assert "bot evening" in found
    assert run(test, **{"refund.create": Computed()}).failures == ()


def test_a_fact_that_is_stated_otherwise_than_computed_fails() -> None:
    """The application's function is asked where it is at hand, so a test cannot state what is not so."""
    report = run(
        TEST.replace("facts: { amount_chf: 50 }", "facts: { amount_chf: 49 }"), **{"refund.create": Computed()}
    )
    assert {"amy tiny", "bot tiny"} <= {each.case for each in report.failures}


def test_a_probe_that_does_not_hold_is_an_error_and_one_that_cannot_be_asked_a_warning() -> None:
    """And a test that is no probe is neither."""
    broken = TEST.replace("    tiny: ok\n", "    tiny: not_found\n", 1)
    assert check_probes(snapshot_of(broken)) == ()
    found = check_probes(snapshot_of("probe: true\n" + broken))
    assert [(each.code, each.severity, each.place.file) for each in found] == [("probe", "error", "tests/desk.yaml")]
    assert found[0].message == "amy tiny: status: expected 'not_found', got 'ok'"
    unasked = TEST.replace("amount: 150 }, facts: { amount_chf: 150 } }", "amount: 150 } }")
    codes = {(each.code, each.severity) for each in check_probes(snapshot_of("probe: true\n" + unasked))}
    assert codes == {("probe_unasked", "warning")}


def test_a_test_of_what_does_not_exist_does_not_load() -> None:
    """Names are closed in tests too."""
    with pytest.raises(PolicyInvalid, match="unknown_role"):
        snapshot_of(TEST.replace("roles: [agent]", "roles: [agnet]"))


def test_identities_and_calls_that_are_like_themselves_end() -> None:
    """Each falls back on what it says itself."""
    report = run(json.dumps({"identities": {"a": {"like": "b"}, "b": {"like": "a"}}, "calls": {}}))
    assert report.failures == ()
