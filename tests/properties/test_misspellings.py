"""
A name with one wrong character is a finding, whatever it names: in the worlds' policies and in those that are shipped.

Words of prose and comments are no names, nor is an id where it is declared; what else of a folder's words names nothing
is listed here by its file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from gatewright.policy.catalog import spec_from_json
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.model import ToolSpec
from gatewright.policy.source import Source, read_folder
from worlds.shelf import worlds

SHIPPED = Path(__file__).parents[2] / "policies"
SAMPLE = 4
MOST = 25
MOST_AT_LENGTH = 400
# Values, ids that are declared where they stand, references, and what issuers call things.
_ISSUER = {"login", "tools", "keys.json", "at", "jwt", "org", "roles", "act", "tenant", "sub"}
_REFUSAL = {"No", "such", "booking", "in", "this", "customer", "account.", "account", "Ask", "for", "the", "code"}
_REFUSAL |= {"once", "more.", "more"}
UNNAMED: dict[str, dict[str, set[str]]] = {
    "bank": {
        "identity.yaml": _ISSUER | {"https://login.bank"},
        "policy.csv": {"actor:bad-bot", "GVA-1", "TMP-1", "subject:tmp"},
        "tenants/zurich/policy.csv": {"subject:tmp", "TMP-1"},
        "tools/papers.yaml": {"month_end", "audit", "draft", "$", "secret", "hidden"},
        "tools/order.place.yaml": {"bulk"},
    },
    "obs": {
        "identity.yaml": _ISSUER | {"eu", "us", "gatewright", "https://idp.example", "realm_roles"},
        "names.yaml": {"free", "plan", "staff", "vendor"},
        "policy.csv": {"PLAN-free", "SEC-77", "service:inventory", "subject:tmp"},
        "tenants/acme/policy.csv": {"service:inventory"},
        "tenants/globex/policy.csv": {"service:globex-*"},
    },
    "software": {
        "identity.yaml": _ISSUER | {"agents", "https://sso.dev", "team", "unit"},
        "policy.csv": {"SEC-1", "SEC-9", "repo:platform/*", "repo:web/*"},
        "tools/git.yaml": {"$", "a-z0-9./_-", "a-z0-9-", "false", "feature/", "feature/agent/", "main"},
        "tools/ship.yaml": {"a-z0-9-", "com", "example", "https://", "main", "org", "passed", "python", "select"},
    },
    "airline": {
        "identity.yaml": _ISSUER | {"airline", "desk", "https://login.air"},
        "tools/book_reservation.yaml": {"certificate", "credit_card", "gift_card", "true"},
        "tools/reservation.yaml": {"true", "business", "economy"} | _REFUSAL,
    },
    "shipped": {"identity.yaml": _ISSUER | {"https://login.example"}},
}
_PROSE = re.compile(r"^(about|refusal):.*$", re.MULTILINE)
_ID = re.compile(r"\bid: ([\w.-]+)")
_WORD = re.compile(r"[A-Za-z$_][\w$.:/*-]*")


@cache
def folders() -> Mapping[str, tuple[dict[str, str], dict[str, ToolSpec] | None]]:
    """The texts of each folder, with its catalog where the texts have none; models are not names."""
    found: dict[str, tuple[dict[str, str], dict[str, ToolSpec] | None]] = {
        world.name: (world.texts, {name: spec_from_json(spec) for name, spec in world.catalog.items()})
        for world in worlds()
    }
    shipped = {
        path: content.decode() for path, content in read_folder(SHIPPED).files.items() if path != "EFFECTIVE.txt"
    }
    return {**found, "shipped": (shipped, None)}


def named_files() -> Iterator[tuple[str, str]]:
    """Every file whose words are names."""
    for name, (texts, _) in folders().items():
        for path in texts:
            if path.endswith((".yaml", ".csv")):
                yield name, path


def words(text: str) -> list[re.Match[str]]:
    """The words of *text* that are not prose, comments or ids where they are declared."""
    skipped = [found.span() for pattern in (_PROSE, re.compile("#.*")) for found in pattern.finditer(text)]
    skipped += [found.span(1) for found in _ID.finditer(text)]
    return [word for word in _WORD.finditer(text) if not any(low <= word.start() < high for low, high in skipped)]


def misspelt(text: str, word: re.Match[str], at: int, how: int) -> str:
    """*text* with the character *at* of *word* changed, left out, doubled or swapped with its neighbour."""
    place = word.start() + at
    one = text[place]
    other = "z" if one == "q" else "q"
    ways = (other, "", one * 2, text[place + 1 : place + 2] + one)
    if how == 3 and (at + 1 == len(word[0]) or text[place + 1] == one):
        how = 0
    return text[:place] + ways[how] + text[place + (2 if how == 3 else 1) :]


def is_silent(name: str, path: str, text: str) -> bool:
    """Whether the folder loads without a word when its file *path* says *text*."""
    texts, catalog = folders()[name]
    try:
        return load_policies(Source.from_texts({**texts, path: text}), catalog).warnings == ()
    except PolicyInvalid:
        return False


def silent_words(name: str, path: str, tried: Iterator[tuple[re.Match[str], int, int]]) -> set[str]:
    """The words of which a misspelling was not found."""
    text = folders()[name][0][path]
    return {word[0].rstrip(":") for word, at, how in tried if is_silent(name, path, misspelt(text, word, at, how))}


def _drawn(name: str, path: str) -> Iterator[tuple[re.Match[str], int, int]]:
    dice = random.Random(f"{name} {path}")
    found = words(folders()[name][0][path])
    for word in dice.sample(found, min(MOST, max(1, len(found) // SAMPLE))):
        yield word, _letter(dice, word[0]), dice.randrange(4)


def _letter(dice: random.Random, word: str) -> int:
    """A place in *word* that can be misspelt."""
    return dice.choice(_letters(word) or [0])


def _letters(word: str) -> list[int]:
    """The letters and digits of a word; of `type:id` and `subject:id` those before the colon, for the id is no name."""
    name = word.partition(":")[0]
    return [at for at, each in enumerate(name) if each.isalnum()]


@pytest.mark.promise("P10")
@pytest.mark.parametrize(("name", "path"), list(named_files()))
def test_one_wrong_character_in_a_name_is_a_finding(name: str, path: str) -> None:
    """A part of the words of each file, each changed in one of four ways."""
    assert silent_words(name, path, _drawn(name, path)) <= UNNAMED.get(name, {}).get(path, set())


@pytest.mark.long
@pytest.mark.parametrize(("name", "path"), list(named_files()))
def test_one_wrong_character_anywhere_in_any_name_is_a_finding(name: str, path: str) -> None:
    """Every letter and digit of every word."""
    every = (
        (word, at, at % 4) for word in words(folders()[name][0][path])[:MOST_AT_LENGTH] for at in _letters(word[0])
    )
    assert silent_words(name, path, every) <= UNNAMED.get(name, {}).get(path, set())
