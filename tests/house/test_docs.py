"""The pages of docs/ are found from the README, lead to what is there, and name commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatewright.cli.main import app

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"(?:^    |`)gatewright ([a-z]+)\b", re.MULTILINE)
COMMANDS = {each.name for each in (*app.registered_commands, *app.registered_groups)}
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_page_is_linked_from_the_readme() -> None:
    """A page that nobody finds is not written."""
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", (ROOT / "README.md").read_text("utf-8")))
    assert linked == {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_leads_to_what_is_there(page: Path) -> None:
    """Its links, and the files of ours that it names."""
    text = page.read_text("utf-8")
    links = [page.parent / link for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)]
    named = re.findall(r"`((?:policy|middleware|src|tests|bench|examples|docs)/[\w./-]+)", text)
    assert [path for path in (*links, *map(ROOT.joinpath, named)) if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_commands_that_there_are(page: Path) -> None:
    """Each `gatewright …` of a page begins with one of our commands."""
    assert set(COMMAND.findall(page.read_text("utf-8"))) <= COMMANDS


def test_every_command_is_on_a_page() -> None:
    """What is not in docs/ is known to nobody who does not ask for --help."""
    named = {name for page in (ROOT / "docs").glob("*.md") for name in COMMAND.findall(page.read_text("utf-8"))}
    assert named >= COMMANDS
