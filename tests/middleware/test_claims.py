"""What an issuer may say becomes a caller, and nothing else of a token does."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any, cast

import pytest

from crafting import NOW, login, names, no_file, partner, verifier
from gatewright.middleware.claims import caller_digest, resolve_caller
from gatewright.middleware.token import build_verifier
from gatewright.middleware.unverified import Unverified
from gatewright.policy.caller import Actor, Caller


def caller(**claims: Any) -> Caller:
    """Return the caller of a token of `login` with *claims*."""
    return verifier().verify(login().token(**claims), NOW)


@pytest.mark.promise("P7")
@pytest.mark.case(15)
def test_a_role_that_is_not_declared_grants_nothing() -> None:
    """Unknown names, actors' roles and names in another case drop out; the token stays good."""
    assert caller(roles=["analyst", "pwned", "copilot", "Lead"]).roles == {"analyst"}
    assert caller(roles=[]).roles == frozenset()
    assert caller(without=["roles"]).roles == frozenset()


@pytest.mark.case(14)
def test_a_subject_named_like_a_role_holds_nothing() -> None:
    """Subjects and roles are kept apart."""
    named = caller(sub="lead")
    assert (named.subject, named.roles) == ("lead", frozenset())


@pytest.mark.promise("P12")
def test_subjects_of_a_shared_tenant_carry_their_issuers_alias() -> None:
    """Two issuers, one sub, one tenant: two subjects. Where an issuer is alone, its ids stand bare."""
    ours = caller(sub="ann", tenant="globex")
    theirs = verifier().verify(partner().token(sub="ann", tenant="globex"), NOW)
    assert (ours.subject, theirs.subject) == ("login/ann", "partner/ann")
    assert ours.key != theirs.key
    assert caller(sub="ann", tenant="acme").subject == "ann"


def test_actors_of_a_shared_tenant_carry_their_issuers_alias_too() -> None:
    """An issuer names actors in its own name only."""
    assert caller(tenant="globex", act="desk-bot").actor == Actor("login/desk-bot")
    assert caller(tenant="acme", act="desk-bot").actor == Actor("desk-bot")


def test_only_the_outermost_actor_counts() -> None:
    """RFC 8693 section 4.1: those inside are history; their roles give nothing."""
    chain = {"sub": "a", "roles": [], "act": {"sub": "b", "roles": ["copilot"], "act": {"sub": "c"}}}
    assert caller(act=chain).actor == Actor("a", prior=("b", "c"))
    assert caller(act={"sub": "a", "act": {"sub": "b", "act": {"sub": "c", "act": {"sub": "d"}}}}).actor is not None


def test_the_roles_of_an_actor_are_declared_actors_roles() -> None:
    """A subject's role in an act claim grants nothing, and the reverse."""
    assert caller(act={"sub": "bot", "roles": ["copilot", "lead"]}).actor == Actor("bot", frozenset({"copilot"}))


def test_an_actor_hidden_in_another_layout_is_refused() -> None:
    """A profile reads another claim: a standard `act` beside it or inside it would be somebody whom nobody asks."""
    profile = login().profile(["acme"], actor="agent")
    checking = build_verifier({"issuers": [profile]}, names(), no_file)
    assert checking.verify(login().token(agent={"sub": "a", "agent": {"sub": "b"}}), NOW).actor == Actor(
        "a", prior=("b",)
    )
    for claims in (
        {"act": {"sub": "b"}},
        {"agent": {"sub": "a"}, "act": {"sub": "b"}},
        {"agent": {"sub": "a", "act": {"sub": "b"}}},
        {"agent": {"sub": "a", "agent": {"sub": "b", "act": None}}},
    ):
        payload = login().claims("ann", "acme", ["analyst"]) | claims
        with pytest.raises(Unverified) as caught:
            checking.verify(login().sign(payload), NOW)
        assert caught.value.detail == "actor"


def test_only_access_tokens_must_name_their_client() -> None:
    """RFC 9068 section 2.2; a profile that names another type of token takes those that leave it out."""
    profile = login().profile(["acme"], typ="JWT")
    checking = build_verifier({"issuers": [profile]}, names(), no_file)
    assert checking.verify(login().token(typ="JWT", without=["client_id"]), NOW).subject == "ann"


def test_an_actor_claim_that_is_only_named_gives_no_roles() -> None:
    """With a bare `actor: act` the roles of an actor come from g rows alone."""
    profile = login().profile(["acme"], actor="act")
    checking = build_verifier({"issuers": [profile]}, names(), no_file)
    token = login().token(act={"sub": "bot", "roles": ["copilot"]})
    assert checking.verify(token, NOW).actor == Actor("bot")


@pytest.mark.case(47)
def test_only_declared_claims_reach_the_caller() -> None:
    """`user_id`, scopes and whatever else a token says stay behind."""
    assert dict(caller(branch="zh1", refund_limit=5, scope="all", user_id="x").claims) == {
        "branch": "zh1",
        "refund_limit": 5,
    }


def test_a_caller_is_frozen_to_the_bottom() -> None:
    """Neither its fields nor anything inside its claims can be changed."""
    one = caller(shape={"list": [1, {"deep": 2}]})
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.subject = "eve"  # type: ignore[misc]
    shape = cast("dict[str, Any]", one.claims["shape"])
    with pytest.raises(TypeError):
        shape["list"] = []
    assert isinstance(shape["list"], tuple)
    assert isinstance(shape["list"][1], Mapping)


def test_an_audience_list_may_hold_others() -> None:
    """RFC 7519 section 4.1.3: ours must be in it, exactly."""
    assert caller(aud=["billing", "tools"]).subject == "ann"


def digest(**changes: Any) -> bytes:
    """Return the key of a caller that differs in *changes*."""
    fields: dict[str, Any] = {
        "issuer": "i",
        "subject": "s",
        "tenant": "t",
        "roles": frozenset({"a", "b"}),
        "actor": None,
        "claims": {"x": 1},
    }
    return caller_digest(**{**fields, **changes})


def test_equal_keys_mean_equal_callers() -> None:
    """Whatever can change a decision changes the key; the order of names does not, and neither does the token."""
    different = [
        digest(),
        digest(issuer="j"),
        digest(subject="t", tenant="s"),
        digest(roles=frozenset({"a"})),
        digest(roles=frozenset({"a,b"})),
        digest(actor=Actor("bot")),
        digest(actor=Actor("bot", frozenset({"a"}))),
        digest(claims={}),
        *(digest(claims={"x": value}) for value in (True, 1.0, "1", None, [1], {"1": 1}, 0, False, 0.0, -0.0, "", [])),
    ]
    assert len(set(different)) == len(different)
    assert digest(claims={"y": 2, "x": 1}) == digest(claims={"x": 1, "y": 2})
    assert caller(branch="a").key == caller(branch="a").key
    assert caller(branch="a").token_id != caller(branch="a").token_id


@pytest.mark.promise("P7")
def test_no_random_chain_gives_an_actor_more_than_its_outermost_claim_says() -> None:
    """Of random chains up to six deep with random roles: at most four are accepted, and only the first one's roles."""
    dice = random.Random(8693)
    issuer, check = login(), verifier()
    payload = issuer.claims("ann", "acme", ["analyst"])
    profile = check.profiles.by_issuer[issuer.issuer]
    for _ in range(5_000):
        depth = dice.randint(1, 6)
        chain: dict[str, Any] | None = None
        for level in range(depth, 0, -1):
            roles = dice.sample(["copilot", "lead", "analyst", "ghost"], dice.randint(0, 4))
            chain = {"sub": f"bot{level}", "roles": roles, **({} if chain is None else {"act": chain})}
        try:
            found = resolve_caller({**payload, "act": chain}, profile, check.profiles, NOW)
        except Unverified:
            assert depth > 4
        else:
            assert depth <= 4
            assert found.roles == {"analyst"}
            assert found.actor is not None
            assert found.actor.id == "bot1"
            assert found.actor.roles == frozenset(cast("dict[str, Any]", chain)["roles"]) & {"copilot"}
