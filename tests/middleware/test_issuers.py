"""identity.yaml means what it says, and whatever is wrong with it is a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from crafting import names
from gatewright.middleware.issuers import locate, read_profiles
from gatewright.middleware.profiles import Profiles
from gatewright.policy.errors import PolicyInvalid

ISSUER: dict[str, Any] = {
    "alias": "login",
    "issuer": "https://login.example",
    "audience": "tools",
    "keys": {"file": "keys.json"},
    "algorithms": ["RS256"],
    "tenants": ["acme"],
    "tenant_claim": "org",
}


def read(*changes: dict[str, Any], **top: Any) -> Profiles:
    """Return the profiles of one issuer per change; a change to None takes a key away."""
    issuers = [{key: value for key, value in {**ISSUER, **change}.items() if value is not None} for change in changes]
    return read_profiles({"issuers": issuers, **top}, names())


def findings(*changes: dict[str, Any], **top: Any) -> list[str]:
    """Return the messages of what is wrong."""
    with pytest.raises(PolicyInvalid) as caught:
        read(*changes, **top)
    return [str(finding) for finding in caught.value.findings]


def test_what_is_not_said_has_a_safe_default() -> None:
    """Access tokens only, an hour at most, five seconds of leeway, no roles, no actor, no further claims."""
    profile = read({}).listed[0]
    assert (profile.typ, profile.lifetime, profile.leeway) == ("at+jwt", 3600.0, 5.0)
    assert (profile.roles_claim, profile.actor, profile.claims, profile.claim_names) == (None, None, None, frozenset())


def test_what_stands_once_holds_for_every_issuer_that_does_not_say_otherwise() -> None:
    """The claims' names may stand beside `issuers`."""
    other = {"alias": "partner", "issuer": "https://partner.example", "roles": "groups"}
    profiles = read({}, other, roles="roles", actor={"claim": "act", "roles": "roles"}, production=True)
    assert [profile.roles_claim for profile in profiles.listed] == ["roles", "groups"]
    assert [profile.actor is not None for profile in profiles.listed] == [True, True]
    assert profiles.production


@pytest.mark.parametrize(
    "change",
    [
        {"alias": None},
        {"alias": "a/b"},
        {"alias": "a b"},
        {"issuer": None},
        {"issuer": ""},
        {"issuer": ["https://login.example"]},
        {"audience": None},
        {"audience": ["tools"]},
        {"keys": None},
        {"keys": {}},
        {"keys": {"file": "keys.json", "url": "https://login.example/keys"}},
        {"keys": {"url": "http://login.example/keys"}},
        {"keys": {"url": "file:///etc/passwd"}},
        {"algorithms": None},
        {"algorithms": []},
        {"algorithms": ["none"]},
        {"algorithms": ["RS256", "ES256K"]},
        {"algorithms": "RS256"},
        {"tenants": None},
        {"tenants": []},
        {"tenants": ["nowhere"]},
        {"tenants": {"pattern": ""}},
        {"tenants": {"pattern": "("}},
        {"tenants": {"pattern": "t)|(.*"}},
        {"tenants": {"pattern": "(?=t).*"}},
        {"tenants": "acme"},
        {"typ": ""},
        {"typ": 1},
        {"tenant_claim": 1},
        {"roles": ["roles"]},
        {"actor": ["act"]},
        {"actor": {"roles": "roles"}},
        {"actor": {"claim": "act", "groups": "x"}},
        {"claims": []},
        {"claims": {"type": "object", "properties": {"branch": {"type": "strin"}}}},
        {"claims": {"type": "object", "properties": {"tenant": {"type": "string"}}}},
        {"lifetime": "soon"},
        {"lifetime": "0s"},
        {"lifetime": True},
        {"leeway": "-5s"},
        {"leeway": -5},
        {"leeway": "10m"},
        {"audiences": ["tools"]},
        {"verify": False},
    ],
    ids=str,
)
def test_a_fault_is_a_finding_about_its_key(change: dict[str, Any]) -> None:
    """Each names the issuer and the key."""
    (key,) = change
    (only,) = findings(change)
    assert f"identity_invalid: issuers[0].{key}: " in only


@pytest.mark.parametrize("keys", [{"keys": [{"kty": "OKP"}]}, [{"kty": "OKP"}]])
def test_keys_may_stand_inline(keys: object) -> None:
    """As a whole key set or as the list in it."""
    assert read({"keys": keys}).listed[0].keys.inline == {"keys": [{"kty": "OKP"}]}


def test_a_finding_says_where() -> None:
    """Line and column of the value, of an unknown key, or of the issuer where a key is missing."""
    text = (
        b"issuers:\n  - alias: login\n    issuer: https://x\n    algorithms: [none]\n    keyz: 1\n  - {}\nleeway: 1h\n"
    )
    data = yaml.safe_load(text)
    with pytest.raises(PolicyInvalid) as caught:
        read_profiles(data, names(), locate(text))
    places = {str(finding.place): finding.message.split(":")[0] for finding in caught.value.findings}
    assert places["identity.yaml:4:17"] == "issuers[0].algorithms"
    assert places["identity.yaml:5:5"] == "issuers[0].keyz"
    assert places["identity.yaml:7:9"].endswith("leeway")
    assert "identity.yaml:6:5" in places
    assert (
        next(finding.hint for finding in caught.value.findings if "keyz" in finding.message) == "did you mean 'keys'?"
    )


def test_the_shipped_profiles_are_read() -> None:
    """policies/identity.yaml, with the names beside it."""
    folder = Path(__file__).parents[2] / "policies"
    data, declared = (yaml.safe_load((folder / f"{name}.yaml").read_text("utf-8")) for name in ("identity", "names"))
    profiles = read_profiles(data, names(*declared["tenants"]))
    assert [profile.alias for profile in profiles.listed] == ["login"]


def test_all_faults_are_told_at_once() -> None:
    """Two of one issuer and one of another."""
    assert len(findings({"alias": "a/b", "leeway": "1h"}, {"issuer": 7, "alias": "other"})) == 3


@pytest.mark.parametrize("key", ["alias", "issuer"])
def test_nothing_that_tells_issuers_apart_stands_twice(key: str) -> None:
    """Two profiles of one issuer would leave open which of them judges a token."""
    other = {"alias": "other", "issuer": "https://other.example", key: ISSUER[key]}
    assert f"{key}_repeated" in findings({}, other)[0]


def test_no_issuer_at_all_believes_nobody() -> None:
    """Absence is denial, not an error."""
    assert read_profiles({}, names()).listed == ()


@pytest.mark.parametrize(
    ("tenant", "admitted"),
    [("t-7", True), ("t-", False), ("xt-7", False), ("t-7x", False), ("t-7\n", False), ("t-٧", False), ("u", True)],
)
def test_a_pattern_of_tenants_matches_as_a_whole(tenant: str, admitted: bool) -> None:
    """Both sides of an alternative are anchored, and digits are ASCII."""
    assert read({"tenants": {"pattern": r"t-\d+|u"}}).listed[0].tenants.admits(tenant) is admitted


def test_a_tenant_that_two_issuers_may_assert_is_shared() -> None:
    """By list or by pattern."""
    other = {"alias": "other", "issuer": "https://other.example", "tenants": {"pattern": "ac.*|globex"}}
    profiles = read({}, other)
    assert [profiles.is_shared(tenant) for tenant in ("acme", "globex", "initech")] == [True, False, False]
