"""A token identifies somebody or nobody, and nobody learns why beyond one coarse word."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
import string
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from crafting import NOW, craft, hmac_token, login, names, no_file, partner, read_corpus, verifier
from gatewright.middleware.token import Verifier, build_verifier
from gatewright.middleware.unverified import Detail, Reason, Unverified
from gatewright.policy.caller import Caller
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.source import Source
from gatewright.testing import FakeClock, FakeIssuer, encode_part

CORPUS = read_corpus(Path(__file__).parents[1] / "data")
ODD_VALUES = r"""
    [null, true, false, 0, -1, 1e300, 9007199254740992, 1800000000, "1800000000", "", "x", "*", "\u00e9", "\u007f", [],
     [[]], {}, ["a", 1], {"sub": "x"}, {"sub": "x", "act": {"sub": "y"}}, ["analyst"], "tools", ["tools"], {"a": {}}]
"""
CASES = [
    pytest.param(case, id=case["name"], marks=[pytest.mark.case(case["case"])] if "case" in case else [])
    for case in CORPUS
]


def refusal(token: Any, now: float = NOW, of: Verifier | None = None) -> Unverified:
    """Return how *token* is refused."""
    with pytest.raises(Unverified) as caught:
        (of or verifier()).verify(token, now)
    return caught.value


@pytest.mark.promise("P7")
@pytest.mark.parametrize("case", CASES)
def test_a_crafted_token_identifies_nobody(case: dict[str, Any]) -> None:
    """Each is stopped by the check it was made for, and the error holds two constants and nothing else."""
    token = craft(case)
    error = refusal(token)
    assert (error.reason, error.detail) == (case["reason"], case["detail"])
    assert error.reason in get_args(Reason)
    assert error.detail in get_args(Detail)
    assert error.args == (error.reason, error.detail)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_the_corpus_holds_at_least_eighty_tokens_of_different_names() -> None:
    """No case is there twice under one name."""
    assert len(CORPUS) >= 80
    assert [name for name, times in Counter(case["name"] for case in CORPUS).items() if times > 1] == []


def test_the_token_that_every_case_starts_from_is_good() -> None:
    """So whatever a case changes is the reason of its refusal."""
    caller = verifier().verify(craft({}), NOW)
    assert (caller.subject, caller.tenant, caller.roles) == ("ann", "acme", frozenset({"analyst"}))


@pytest.mark.parametrize("token", [None, ""])
def test_no_token_is_missing(token: str | None) -> None:
    """Absence is a reason of its own, and never a caller."""
    assert refusal(token).reason == "token_missing"


@pytest.mark.parametrize("token", [b"a.b.c", 7, ["x"], {"sub": "ann"}, True])
def test_what_is_not_text_is_malformed(token: object) -> None:
    """A mapping of claims in particular is not a token."""
    assert refusal(token).reason == "token_malformed"


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_verifies(algorithm: str) -> None:
    """A token signed by the listed algorithm names its caller; a changed one does not."""
    issuer = FakeIssuer(algorithm=algorithm)
    checking = build_verifier({"issuers": [issuer.profile(["acme"])]}, names(), no_file)
    token = issuer.token(sub="ann", tenant="acme")
    assert checking.verify(token, issuer.clock.time()).subject == "ann"
    other = FakeIssuer(algorithm=algorithm)
    other.key_id = issuer.key_id
    assert refusal(other.token(), issuer.clock.time(), checking).detail == "signature"


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"])
def test_the_type_is_compared_as_a_media_type(typ: str) -> None:
    """RFC 9068 section 4 and RFC 7515 section 4.1.9: case and `application/` do not matter."""
    assert verifier().verify(login().token(typ=typ), NOW).subject == "ann"


@pytest.mark.case(39)
@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iat": NOW + 3}, None),
        ({"nbf": NOW + 5}, None),
        ({"nbf": NOW + 5.5}, "token_not_yet_valid"),
        ({"iat": NOW - 60, "exp": NOW - 3}, None),
        ({"iat": NOW - 60, "exp": NOW - 5}, "token_expired"),
        ({"exp": NOW + 3600}, None),
        ({"exp": NOW + 3600.5}, "token_invalid"),
    ],
)
def test_the_leeway_is_small_and_exact(claims: dict[str, float], reason: str | None) -> None:
    """Five seconds either way; a float is a NumericDate too."""
    token = login().token(**claims)
    if reason is None:
        assert verifier().verify(token, NOW).subject == "ann"
    else:
        assert refusal(token).reason == reason


def test_a_caller_expires_when_its_token_is_no_longer_accepted() -> None:
    """`expires_at` has the leeway in it, so that a later check needs no profile."""
    token = login().token(lifetime=60)
    caller = verifier().verify(token, NOW)
    assert caller.expires_at == NOW + 65
    assert verifier().verify(token, caller.expires_at - 0.001) == caller
    assert refusal(token, caller.expires_at).reason == "token_expired"


@pytest.mark.promise("P7")
def test_an_issuer_of_one_tenant_is_not_believed_about_another() -> None:
    """`partner` may say globex and initech, not acme."""
    assert verifier().verify(partner().token(tenant="initech"), NOW).tenant == "initech"
    assert refusal(partner().token(tenant="acme")).detail == "tenant"


@pytest.mark.promise("P7")
def test_nothing_of_a_token_is_in_what_comes_of_it() -> None:
    """Not in the caller's repr or pickled bytes, not in a refusal's text or printed trace."""
    token = login().token(branch="zh1")
    signature = token.rsplit(".", 1)[1]
    caller = verifier().verify(token, NOW)
    assert signature not in repr(caller)
    refused = refusal(token[:-6] + "AAAAAA")
    trace = "".join(traceback.format_exception(refused))
    assert signature[:40] not in trace + repr(refused) + str(refused)
    assert signature[:40].encode() not in pickle.dumps(refused)


def test_whatever_breaks_inside_is_a_refusal() -> None:
    """A key source that raises identifies nobody, and its text goes nowhere."""

    class Broken:
        is_remote = False

        def find(self, key_id: str | None, algorithm: str) -> None:
            raise RuntimeError("secret path")

    checking = Verifier(verifier().profiles, {"login": Broken(), "partner": Broken()})
    error = refusal(login().token(), of=checking)
    assert (error.reason, error.detail, error.__cause__, error.__context__) == ("token_invalid", "error", None, None)


def test_an_unchanged_identity_keeps_its_verifier() -> None:
    """A reload that touches neither profiles nor keys nor roles keeps what was verified; any other does not."""
    issuer = FakeIssuer(clock=FakeClock(NOW))
    data = {"issuers": [issuer.profile(["acme"])]}
    first = build_verifier(data, names(), no_file)
    assert build_verifier(data, names(), no_file, previous=first) is first
    fewer = dataclasses.replace(names(), roles={"lead": frozenset()})
    assert build_verifier(data, fewer, no_file, previous=first) is not first
    issuer.rotate()
    changed = build_verifier({"issuers": [issuer.profile(["acme"])]}, names(), no_file, previous=first)
    assert changed is not first


def test_keys_come_from_the_file_that_the_profile_names() -> None:
    """A key set of the policies folder is read once; another name is not there."""
    issuer = FakeIssuer(clock=FakeClock(NOW))
    profile = {**issuer.profile(["acme"]), "keys": {"file": "keys.json"}}
    files = {"keys.json": json.dumps(issuer.jwks()).encode()}
    checking = build_verifier({"issuers": [profile]}, names(), files.__getitem__)
    assert isinstance(checking.verify(issuer.token(), NOW), Caller)
    issuer.rotate()
    files["keys.json"] = json.dumps(issuer.jwks()).encode()
    changed = build_verifier({"issuers": [profile]}, names(), files.__getitem__, previous=checking)
    assert isinstance(changed.verify(issuer.token(), NOW), Caller)


def test_a_policies_folder_in_memory_identifies_its_callers() -> None:
    """What the loader makes of identity.yaml is what profiles are read from; its key file stands beside it."""
    issuer = FakeIssuer(clock=FakeClock(NOW))
    profile = {**issuer.profile(["acme"]), "keys": {"file": "keys.json"}}
    source = Source.from_texts(
        {
            "names.yaml": "roles: { analyst: {} }\nactors: []\ntenants: { acme: {} }\n",
            "policy.csv": "",
            "identity.yaml": json.dumps({"format": 1, "issuers": [profile]}),
            "keys.json": json.dumps(issuer.jwks()),
        }
    )
    policies = load_policies(source)
    checking = build_verifier(policies.profiles, policies.names, source.files.__getitem__)
    assert checking.verify(issuer.token(roles=["analyst"]), NOW).roles == {"analyst"}


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (None, "keys_absent"),
        (b"", "keys_unreadable"),
        (b'{"keys": []}', "keys_unfit"),
        (b'{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}', "keys_unfit"),
        (b'{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"}]}', "keys_private_key"),
    ],
)
def test_a_key_file_that_can_not_be_used_is_a_finding(file: bytes | None, code: str) -> None:
    """With the file's name; nothing of a key is in it."""
    profile = {**login().profile(["acme"]), "keys": {"file": "keys.json"}}
    files = {} if file is None else {"keys.json": file}
    with pytest.raises(PolicyInvalid) as caught:
        build_verifier({"issuers": [profile]}, names(), files.__getitem__)
    (finding,) = caught.value.findings
    assert (finding.place.file, finding.code) == ("keys.json", code)
    assert "AQAB" not in str(finding)


def test_keys_behind_a_url_outlive_a_reload() -> None:
    """They are fetched when first needed and not again because a role was added."""
    issuer = FakeIssuer(algorithm="EdDSA", clock=FakeClock(NOW))
    profile = {**issuer.profile(["acme"]), "keys": {"url": "https://login.example/keys"}}
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return json.dumps(issuer.jwks()).encode()

    first = build_verifier({"issuers": [profile]}, names(), no_file, fetch=fetch)
    assert (first.is_remote, asked) == (True, [])
    assert first.verify(issuer.token(), NOW).subject == "ann"
    fewer = dataclasses.replace(names(), roles={"lead": frozenset()})
    second = build_verifier({"issuers": [profile]}, fewer, no_file, fetch=fetch, previous=first)
    assert second is not first
    assert second.verify(issuer.token(roles=["analyst"]), NOW).roles == frozenset()
    assert asked == ["https://login.example/keys"]


@pytest.mark.parametrize("signature", [bytes(64), b"\x30\x06\x02\x01\x00\x02\x01\x00", bytes(63), b"\xff" * 64])
def test_no_trivial_signature_passes(signature: bytes) -> None:
    """Zeros (CVE-2022-21449's trick), another encoding, another length."""
    for algorithm in ("ES256", "EdDSA"):
        issuer = FakeIssuer(algorithm=algorithm, clock=FakeClock(NOW))
        checking = build_verifier({"issuers": [issuer.profile(["acme"])]}, names(), no_file)
        signed = issuer.token().rpartition(".")[0]
        assert refusal(f"{signed}.{encode_part(signature)}", of=checking).detail == "signature"


def test_a_shared_secret_counts_only_where_a_profile_says_so() -> None:
    """With a listed HS256 and a key that is long enough; the secret is in no repr."""
    secret = b"a secret of at least 32 bytes, as RFC 7518 wants"
    key = {"kty": "oct", "k": encode_part(secret), "kid": "shared"}
    profile = {**login().profile(["acme"]), "algorithms": ["HS256"], "keys": {"keys": [key]}}
    checking = build_verifier({"issuers": [profile]}, names(), no_file)
    token = hmac_token(login().token(), secret, kid="shared")
    assert checking.verify(token, NOW).subject == "ann"
    assert refusal(token).detail == "algorithm"
    assert encode_part(secret) not in repr(vars(checking)) + repr(checking.profiles)


@pytest.mark.promise("P7")
@pytest.mark.parametrize("actor", [None, "agent", {"claim": "agent", "roles": "roles"}])
def test_an_act_claim_that_no_profile_reads_is_refused(actor: object) -> None:
    """Passing over it would give an agent everything its subject has."""
    profile = login().profile(["acme"], actor=actor)
    checking = build_verifier({"issuers": [profile]}, names(), no_file)
    assert refusal(login().token(act="bot"), of=checking).detail == "actor"
    acting = checking.verify(login().token(agent={"sub": "bot"}), NOW).actor
    assert (acting is None) is (actor is None)


@pytest.mark.promise("P11")
def test_no_random_change_of_a_token_is_accepted() -> None:
    """Of tokens with a character changed, added, dropped or moved: each is refused by a check of ours."""
    dice = random.Random(7519)
    issuer = partner()
    token = issuer.token(tenant="initech")
    letters = string.ascii_letters + string.digits + "-_=.+/ \n\x00é"
    for _ in range(3_000):
        at = dice.randrange(len(token))
        change = token[:at] + dice.choice(["", *letters]) + token[at + dice.randint(0, 1) :]
        if change != token:
            assert refusal(change).detail != "error"


@pytest.mark.promise("P11")
def test_no_random_claim_breaks_anything() -> None:
    """Signed payloads with random values: a caller of the right shape, or a refusal by a check of ours."""
    dice = random.Random(9068)
    issuer = partner()
    good = issuer.claims("ann", "initech", ["analyst"], act={"sub": "bot", "roles": ["copilot"]})
    claims = [*good, "nbf", "sid", "cnf"]
    values = json.loads(ODD_VALUES)
    accepted = broken = 0
    for _ in range(3_000):
        payload = good | {dice.choice(claims): dice.choice(values) for _ in range(dice.randint(1, 2))}
        try:
            caller = verifier().verify(issuer.sign(payload), NOW)
        except Unverified as error:
            broken += error.detail == "error"
        else:
            accepted += 1
            assert caller.tenant == "initech"
            assert caller.roles <= {"analyst"}
            assert caller.actor is None or caller.actor.roles <= {"copilot"}
            assert NOW < caller.expires_at <= NOW + 3605
    assert accepted > 0
    assert broken == 0
