"""References are substitution; what cannot be filled is never satisfied."""

from __future__ import annotations

import pytest

from gatewright.policy.caller import Caller
from gatewright.policy.model import Json
from gatewright.policy.references import EARLY, MISSING, Missing, Unfilled, early_lookup, has_references, substitute

AMY = Caller("amy", "zurich", frozenset({"agent"}), claims={"branch": "zh1", "limit": 1000, "empty": "", "flag": True})
LOOKUP = early_lookup(AMY, {"max_span_s": 3600})


def test_identity_and_tenant_are_filled_at_every_depth() -> None:
    """Subject, tenant, claims and settings are what the token and the settings say."""
    schema: Json = {
        "properties": {"a": {"const": {"$identity": "subject"}}, "b": {"enum": [{"$identity": "branch"}, "x"]}},
        "maximum": {"$tenant": "max_span_s"},
    }
    assert substitute(schema, LOOKUP) == {
        "properties": {"a": {"const": "amy"}, "b": {"enum": ["zh1", "x"]}},
        "maximum": 3600,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"const": {"$identity": "nothing"}},
        {"const": {"$identity": "empty"}},
        {"maximum": {"$identity": "branch"}},
        {"maximum": {"$identity": "flag"}},
        {"pattern": {"$identity": "limit"}},
        {"enum": {"$identity": "branch"}},
        {"maxLength": {"$tenant": "nothing"}},
        {"not": {"const": {"$argument": "late"}}},
    ],
)
@pytest.mark.promise("P1")
def test_what_cannot_be_filled_is_never_satisfied(schema: Json) -> None:
    """Absent, empty, or of a kind that its keyword cannot take: the caller must refuse."""
    with pytest.raises(Unfilled):
        substitute(schema, LOOKUP)


def test_late_references_stay_where_only_early_ones_are_asked_for() -> None:
    """A template fills `$identity` once; `$argument` waits for the call."""
    schema: Json = {"const": {"$argument": "amount"}}
    assert substitute(schema, LOOKUP, EARLY) == schema
    assert has_references(schema)
    assert not has_references(schema, EARLY)


def test_subject_and_tenant_cannot_be_claimed() -> None:
    """A claim of that name does not stand in for the token's subject or tenant."""
    mallory = Caller("mallory", "geneva", frozenset(), claims={"subject": "amy", "tenant": "zurich"})
    lookup = early_lookup(mallory, {})
    assert (lookup("$identity", "subject"), lookup("$identity", "tenant")) == ("mallory", "geneva")


def test_other_kinds_are_missing_early() -> None:
    """The early lookup knows the token and the settings and nothing else."""
    assert isinstance(LOOKUP("$argument", "amount"), Missing)
    assert repr(MISSING) == "MISSING"
