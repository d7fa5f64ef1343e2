"""
P10: a broken, half-written, misspelt or older policy never widens anything, and reload under load gives no wrong
decision.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gatewright.policy.effective import effective_text
from gatewright.policy.folder import load_policies
from gatewright.policy.source import read_folder
from promises.shop import FORBIDDEN, GOOD, ROLES, ROWS, TOOL_NAMES, Shop, open_shop

pytestmark = pytest.mark.promise("P10")
FILES = ("policy.csv", "names.yaml", "identity.yaml", "tools/shop.yaml")
CUTS = 14
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    *GOOD.items(),
    ("basket.find", {"basket": "b-2", "limit": 5}),
    ("basket.find", {"basket": "a-1", "limit": 50}),
    ("stock.rows", {"region": "west", "limit": 3}),
    ("basket.pay", {"basket": "a-1", "amount": 5}),
    ("basket.pay", {"basket": "b-2", "amount": 1000}),
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One shop over a folder of policies."""
    return open_shop(tmp_path_factory.mktemp("shop") / "policies")


@pytest.fixture
def shop(opened: Shop) -> Iterator[Shop]:
    """The shop as it was opened; what a test changed is put back."""
    before = {path: path.read_bytes() for path in folder_of(opened).rglob("*") if path.is_file()}
    opened.reset()
    yield opened
    for path in list(folder_of(opened).rglob("*")):
        if path.is_file() and path not in before:
            path.unlink()
    for path, content in before.items():
        path.write_bytes(content)
    assert opened.guard.reload()


def folder_of(shop: Shop) -> Path:
    """Where the policies are."""
    assert shop.guard.folder is not None
    return shop.guard.folder


def allowed(shop: Shop) -> dict[tuple[str, int], set[str]]:
    """(role, call) → the fields that it is answered with, where it is answered at all."""
    found: dict[tuple[str, int], set[str]] = {}
    for role, (number, (tool, arguments)) in product(ROLES, enumerate(ASKED)):
        result = shop.call(tool, arguments, role)
        if result.status == "ok":
            found[role, number] = fields_of(result.to_json())
    return found


def fields_of(answer: Any) -> set[str]:
    """Every key with a plain value, at any depth, and the buyers whose names are told."""
    text = json.dumps(answer)
    return set(re.findall(r'"(\w+)": (?!null|\[|\{)', text)) | {name for name in ("Ann", "Bob") if name in text}


def is_wider(after: dict[tuple[str, int], set[str]], before: dict[tuple[str, int], set[str]]) -> bool:
    """Whether anybody has an answer, or something in one, that was not there before."""
    return any(key not in before or not fields <= before[key] for key, fields in after.items())


def go_live(shop: Shop) -> None:
    """Say in the folder that it is in production, and what it is as a whole."""
    identity = folder_of(shop) / "identity.yaml"
    identity.write_text(json.dumps({**json.loads(identity.read_text()), "production": True}))
    policies = load_policies(read_folder(folder_of(shop)), any_age=True)
    (folder_of(shop) / "EFFECTIVE.txt").write_text(effective_text(policies))
    assert shop.guard.reload()


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_cut_off_anywhere_never_goes_live_in_production(shop: Shop, file: str) -> None:
    """Half-written at any of many places: the last good policies stay, and decide as they did."""
    folder = folder_of(shop)
    go_live(shop)
    revision, before = shop.guard.revision, allowed(shop)
    whole = (folder / file).read_bytes()
    for cut in range(0, len(whole), len(whole) // CUTS):
        (folder / file).write_bytes(whole[:cut])
        assert not shop.guard.reload(), cut
        assert shop.guard.revision == revision
        assert shop.guard.health.degraded
    assert allowed(shop) == before


@pytest.mark.parametrize("file", ["policy.csv", "names.yaml", "tools/shop.yaml"])
def test_an_older_file_never_goes_live_in_production(shop: Shop, file: str) -> None:
    """One file of the release before, however sound: the folder is not the one that EFFECTIVE.txt was made of."""
    path = folder_of(shop) / file
    older = path.read_text()
    path.write_text(f"# newer\n{older}")
    go_live(shop)
    revision = shop.guard.revision
    path.write_text(older)
    assert not shop.guard.reload()
    assert shop.guard.revision == revision


def test_a_folder_that_is_copied_in_part_never_goes_live_in_production(shop: Shop) -> None:
    """Rows cut off at the end of a line, and EFFECTIVE.txt not there yet: a deny is missing, and nothing says so."""
    go_live(shop)
    revision = shop.guard.revision
    (folder_of(shop) / "EFFECTIVE.txt").unlink()
    (folder_of(shop) / "policy.csv").write_text(ROWS.replace("p, intern, *, basket.pay, call, deny\n", ""))
    assert not shop.guard.reload()
    assert shop.guard.revision == revision


WORD = re.compile(r"[a-z][a-z_]{3,}")


def misspellings(text: str) -> Iterator[str]:
    """The text with one letter of one word left out, for each word once at each of its first places."""
    seen: dict[str, int] = {}
    for found in WORD.finditer(text):
        seen[found.group()] = seen.get(found.group(), 0) + 1
        if seen[found.group()] <= 2:
            at = found.start() + 1
            yield text[:at] + text[at + 1 :]


@pytest.mark.parametrize("file", ["policy.csv", "names.yaml", "tools/shop.yaml"])
def test_a_misspelt_word_never_widens_anything(shop: Shop, file: str) -> None:
    """A letter left out of a role, tool, action, effect, key or claim: not loaded, or nobody has more than before."""
    before = allowed(shop)
    path = folder_of(shop) / file
    tried = refused = 0
    for text in misspellings(path.read_text()):
        path.write_text(text)
        tried += 1
        if shop.guard.reload():
            assert not is_wider(allowed(shop), before), text
        else:
            refused += 1
    assert tried > 10
    assert refused > tried // 2


def test_a_tool_that_changed_since_it_was_accepted_is_open_to_nobody(shop: Shop) -> None:
    """Its catalog file is an older one: hidden from every role, and the log says why."""
    path = folder_of(shop) / "catalog" / "basket.find.json"
    path.write_text(path.read_text().replace("Return the lines", "Return all lines"))
    assert shop.guard.reload()
    shop.ran.clear()
    for role in ROLES:
        shop.check_refused(shop.call("basket.find", role=role), "tool_selected", "quarantined")


def test_an_empty_folder_and_no_folder_allow_nothing(shop: Shop) -> None:
    """Everything was deleted: what was in force stays in force, and it is said that it is old."""
    before, revision = allowed(shop), shop.guard.revision
    for path in list(folder_of(shop).rglob("*")):
        if path.is_file():
            path.unlink()
    assert not shop.guard.reload()
    assert shop.guard.revision == revision
    assert shop.guard.health.degraded
    assert allowed(shop) == before


def test_reload_under_load_gives_no_wrong_decision(shop: Shop) -> None:
    """Callers in four threads, reloads between an open and a closed shop: each answer is right under its revision."""
    rows = folder_of(shop) / "policy.csv"
    closed = ROWS.replace("p, clerk, *, tools/counter, call, allow\n", "")
    revisions = {True: shop.guard.revision}
    rows.write_text(closed)
    assert shop.guard.reload()
    revisions[False] = shop.guard.revision
    stop, answers = threading.Event(), list[tuple[str, str]]()
    token = shop.token()

    def ask() -> None:
        while not stop.is_set():
            status = shop.guard.call("basket.find", GOOD["basket.find"], token=token).status
            answers.append((shop.guard.last_call_id or "", status))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(12):
        rows.write_text(ROWS if number % 2 == 0 else closed)
        assert shop.guard.reload()
    stop.set()
    for thread in threads:
        thread.join()
    decided = last_revisions(shop)
    assert {status for _, status in answers} == {"ok", "forbidden"}
    assert len(answers) > 100
    for call, status in answers:
        assert decided[call] == revisions[status == "ok"], status


def last_revisions(shop: Shop) -> dict[str, str]:
    """Call → the revision of the last thing that was asked of the policies."""
    found: dict[str, str] = {}
    for event in shop.journal.events():
        if event.call is not None and "revision" in event.fields:
            found[event.call] = str(event.fields["revision"])
    return found


def test_what_is_refused_here_is_answered_with_the_constant(shop: Shop) -> None:
    """A denial after a failed reload is the denial that it was."""
    (folder_of(shop) / "policy.csv").write_text("p, clerk, *, shop.close, call, alow\n")
    assert not shop.guard.reload()
    shop.ran.clear()
    for tool in TOOL_NAMES:
        result = shop.call(tool, role="guest")
        assert result.to_bytes() == FORBIDDEN
        shop.check_refused(result, "tool_selected", "hidden")
