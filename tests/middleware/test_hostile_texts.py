"""Whatever a caller writes, wherever: one event line, no raw control character in it, and never more than 64 KiB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright import Guard
from gatewright.middleware.canonical import MAX_LINE
from gatewright.middleware.linked import split_link
from gatewright.middleware.record import check_line, expand
from gatewright.policy.errors import Misuse
from gatewright.testing import FakeIssuer

POLICIES = {
    "names.yaml": "roles: { clerk: {} }\nactors: []\ntenants: { acme: {} }\ntypes: {}\ndelegate: {}\n",
    "policy.csv": "p, clerk, *, note.add, call, allow\np, clerk, *, note.read, call, allow\n",
    "tools/note.yaml": (
        "tool: note.add\nallow: [ { id: all, roles: [clerk], arguments: { text: {} } } ]\n"
        "---\ntool: note.read\nallow: [ { id: all, roles: [clerk], arguments: { text: {} } } ]\n"
    ),
}
LONG = 10_000_000
HOSTILE = {
    "cr": "a\rb",
    "lf": 'a\n{"at":"2026-01-01T00:00:00.000000Z","events":[]}\n',
    "nel": "a\x85b",
    "line separator": "a\u2028b\u2029c",
    "ansi": "\x1b[2J\x1b]0;x\x07\x9b31m",
    "nul": "a\0b",
    "delete": "a\x7fb",
    "direction": "a\u202eb\ufeff",
    "surrogate": "a\ud800b\udfff",
    "long": "x" * LONG,
    "long and hostile": "\x1b\u2028\0" * (LONG // 10),
}
FIELDS = ("tool", "text", "argument", "name of an argument", "token", "call_id", "interaction", "operation", "stage")
ACTIVE = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf")
ISSUER = FakeIssuer()
TOKEN = ISSUER.token(sub="amy", tenant="acme", roles=["clerk"])


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the events go: a file, a line each."""
    return tmp_path_factory.mktemp("journal") / "events.jsonl"


@pytest.fixture(scope="module")
def guard(journal: Path) -> Iterator[Guard]:
    """A guard of one read and one write that take a text."""
    profile = json.dumps({"issuers": [ISSUER.profile(["acme"])]})
    with Guard({**POLICIES, "identity.yaml": profile}, journal=journal) as guard:

        @guard.tool("note.add", kind="write", use_when="you note", not_for="anything else")
        def add(text: str) -> None:
            """Add a note."""

        @guard.tool("note.read", kind="read", use_when="you read", not_for="anything else")
        def read(text: str) -> str:
            """Read a note."""
            return text

        guard.call("note.read", "{}", token=TOKEN)  # the policies are loaded with it, which is a line of its own
        yield guard


def call(guard: Guard, field: str, text: str, tool: str) -> bool:
    """Make one call with *text* in *field*; False for what an application says wrongly, which is no call."""
    asked: dict[str, Any] = {"token": TOKEN}
    name, arguments = tool, json.dumps({"text": "fine"})
    if field == "tool":
        name = text
    elif field == "text":
        arguments = text
    elif field == "argument":
        arguments = json.dumps({"text": text})
    elif field == "name of an argument":
        arguments = json.dumps({text: 1, "text": "fine"})
    elif field == "stage":
        asked["context"] = {"stage": text}
    else:
        asked[field] = text
    try:
        guard.call(name, arguments, **asked)
    except Misuse:
        return False
    return True


@pytest.mark.promise("P9")
@pytest.mark.parametrize("tool", ["note.read", "note.add"])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_one_call_is_one_line_without_control_characters(
    guard: Guard, journal: Path, kind: str, field: str, tool: str
) -> None:
    """In every field that a caller controls, in reads and in writes; what is long leaves a marker with its digest."""
    before = journal.stat().st_size
    if not call(guard, field, HOSTILE[kind], tool):
        assert field == "stage"
        return
    written = journal.read_bytes()[before:]
    lines = [unlinked(each) for each in written.split(b"\n")[:-1]]
    if tool == "note.add" and not lines:
        lines = list(guard._runtime.ledger.iter_lines(call=guard.last_call_id))
        assert len(lines) == 2
    else:
        assert len(lines) == 1
    for line in lines:
        assert len(line) <= MAX_LINE
        assert not ACTIVE.search(line)
        assert check_line(line)
    answered = [event for line in lines for event in expand(line) if event.kind == "call_answered"]
    assert len(answered) == 1


def unlinked(written: bytes) -> bytes:
    """The line that a file's line holds."""
    parts = split_link(written + b"\n")
    assert parts is not None
    return parts[1]


def test_what_is_too_long_leaves_a_marker_and_a_digest(guard: Guard, journal: Path) -> None:
    """So that it can be told whether two of them were the same."""
    before = journal.stat().st_size
    guard.call("x" * LONG, "{}", token=TOKEN)
    assert re.search(rb"\[cut: 10000000 characters, sha256 [0-9a-f]{32}\]", journal.read_bytes()[before:])
