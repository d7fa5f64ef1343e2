"""JSONTestSuite through calls: what is no JSON never reaches a tool, and a tool gets the very value that was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from desk import Desk, open_one
from shared_data import shared, shared_folder

VERDICTS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("json_free_choices.yaml").read_text())
FOLDER = "data/json-test-suite"
FILES = [path.name for path in sorted((shared_folder() / FOLDER / "test_parsing").glob("*.json"))] or ["test suite"]
STRICTER = {
    "y_object_duplicated_key.json": "duplicate_key",
    "y_object_duplicated_key_and_value.json": "duplicate_key",
    "y_object_escaped_null_in_key.json": "nul_character",
    "y_string_null_escape.json": "nul_character",
}
WHOLE_TEXT = {"byte_order_mark", "not_utf8", "too_deep"}
"""Reasons that depend on where a file begins, or on how deep it stands."""


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """A guard whose tool takes anything as its one argument."""

    def keep(x: Any) -> None:
        """Keep a value."""
        made.ran.append(("keep", {"x": x}))

    made, _ = open_one(keep, name="keep", schema={"type": "object", "properties": {"x": {}}, "required": ["x"]})
    yield made
    made.guard.close()


def ask(desk: Desk, raw: bytes) -> tuple[str, str, list[Any]]:
    """Status and reason of a call with *raw*, and what the tool was entered with."""
    desk.ran.clear()
    answer = desk.call("keep", raw).to_json()
    assert not desk.event("call_answered").get("cause"), "nothing broke inside"
    return str(answer["status"]), str(answer.get("reason", "")), [entered["x"] for _, entered in desk.ran]


@pytest.mark.promise("P11")
@pytest.mark.parametrize("name", FILES)
def test_each_file_is_refused_or_reaches_the_tool_as_it_is(desk: Desk, name: str) -> None:
    """As the arguments themselves, and as the value of one; must-reject, must-accept and free choice alike."""
    raw = shared(f"{FOLDER}/test_parsing/{name}").read_bytes()
    status, reason, ran = ask(desk, raw)
    assert (status, ran) == ("invalid_arguments", []), "no file of the suite is an object with x"
    inside, inner_reason, received = ask(desk, b'{"x":' + raw + b"}")
    verdict = STRICTER.get(name) or VERDICTS.get(name)
    if verdict is not None:
        assert reason == verdict
        assert (inside, received) == ("invalid_arguments", [])
        assert inner_reason == verdict or verdict in WHOLE_TEXT
    elif name.startswith("y_"):
        assert reason in ("not_an_object", "unknown_argument", "missing")
        assert inside == "ok"
        assert received == [json.loads(raw)]
        assert json.dumps(received[0]) == json.dumps(json.loads(raw)), "1 and 1.0 are told apart too"
    else:
        assert name.startswith("n_")
        assert (inside, received) == ("invalid_arguments", [])


@pytest.mark.promise("P11")
def test_transformed_files_are_never_read_otherwise(desk: Desk) -> None:
    """What other parsers change in silence is refused, or reaches the tool as the standard library reads it."""
    refused = {}
    for path in sorted(shared(f"{FOLDER}/test_transform").glob("*.json")):
        status, reason, received = ask(desk, b'{"x":' + path.read_bytes() + b"}")
        if status == "ok":
            assert json.dumps(received[0]) == json.dumps(json.loads(path.read_bytes())), path.name
        else:
            refused[path.name] = reason
    assert set(refused.values()) <= {
        "duplicate_key",
        "lone_surrogate",
        "not_utf8",
        "number_out_of_range",
        "nul_character",
    }
