"""What a role is shown, from the command line: in every form, and as a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commands import run

POLICIES = str(Path(__file__).parents[2] / "policies")
VIEWER = ("--role", "viewer", "--tenant", "acme", "--policies", POLICIES)
FORMS = ("json", "openai", "openai-strict", "anthropic", "gemini", "mcp", "typescript", "zod")


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_is_written_in_every_form(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the role's own: the viewer's limit, and nothing of a wider role."""
    assert run("schema", "logs.query", *VIEWER, "--format", form) == 0
    text = capsys.readouterr().out
    assert "service" in text
    assert "20" in text
    assert "200" not in text
    if form not in ("typescript", "zod"):
        json.loads(text)


def test_a_tool_that_is_not_open_and_one_that_is_made_up_are_told_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """Both end with code 1 and the same sentence."""
    told = []
    for tool in ("alerts.mute", "made.up"):
        assert run("schema", tool, *VIEWER) == 1
        told.append(capsys.readouterr().err.replace(tool, "it"))
    assert told[0] == told[1] == "it is not open to this caller\n"


@pytest.mark.parametrize(
    "options",
    [
        ("--role", "nobody", "--tenant", "acme"),
        ("--role", "viewer", "--tenant", "nowhere"),
        ("--role", "viewer", "--tenant", "acme", "--actor-role", "nobody"),
        ("--role", "viewer", "--tenant", "acme", "--claim", "branch"),
        ("--role", "viewer", "--tenant", "acme", "--format", "openapi"),
        ("--role", "viewer"),
    ],
)
def test_a_mistake_ends_with_code_2(options: tuple[str, ...]) -> None:
    """An unknown role, tenant or form is no caller without rights."""
    assert run("schema", "logs.query", *options, "--policies", POLICIES) == 2


def test_losses_are_told_beside_the_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    """What a provider cannot be told stands on standard error, a line each."""
    assert run("schema", "logs.query", *VIEWER, "--format", "openai-strict") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["function"]["strict"] is True
    assert all(line.startswith("lost: ") for line in told.err.splitlines())


def test_a_page_in_markdown_shows_the_roles_tools_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments with what they ask for, results after the cuts, and no word of what is hidden."""
    assert run("docs", *VIEWER) == 0
    page = capsys.readouterr().out
    assert "## logs.query" in page
    assert "| `limit` | yes | an integer without a decimal point, at least 1, at most 20 |" in page
    assert "**Not for:**" in page
    assert "items[].message" in page
    assert "client_ip" not in page
    assert "alerts.mute" not in page


def test_a_page_in_html_needs_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    """Every element is closed, and nothing is loaded from anywhere."""
    assert run("docs", *VIEWER, "--format", "html") == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert not any(word in page for word in ("<script", "src=", "http:", "https:", "@import", "url("))
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    assert "client_ip" not in page


def test_a_page_of_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A role to which no tool is open gets an empty page and code 1."""
    assert run("docs", "--role", "analyst", "--tenant", "globex", "--policies", POLICIES) == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == ["# Tools of analyst of globex", ""]
    assert told.err == "no tool is open to this caller\n"


class Balanced(HTMLParser):
    """Counts elements that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open one."""
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close it."""
        assert self.open.pop() == tag
