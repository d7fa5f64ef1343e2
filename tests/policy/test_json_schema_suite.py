"""The public JSON Schema test suite through our own registration; every difference is a written rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from shared_data import shared

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
HERE = Path(__file__).parent


def test_every_difference_from_the_suite_is_written_down() -> None:
    """What is refused at registration, and what is answered otherwise, is the list beside this test, to the line."""
    folder = shared("data/json-schema-test-suite/tests/draft2020-12")
    found = [" | ".join(line) for path in sorted(folder.rglob("*.json")) for line in _differences(path)]
    assert found == (HERE / "suite_differences.txt").read_text("utf-8").splitlines()


def test_every_difference_is_a_refusal_or_a_rule() -> None:
    """No line of the list is an accident: it names a reason of the dialect or a rule of the design."""
    lines = (HERE / "suite_differences.txt").read_text("utf-8").splitlines()
    rules = {line.rsplit(" | ", 1)[1] for line in lines if " | refused: " not in line}
    assert rules <= {"closed", "strict integers", "asserted formats"}


def _differences(path: Path) -> Iterator[tuple[str, ...]]:
    for case in json.loads(path.read_text("utf-8")):
        where = (path.stem, case["description"])
        schema = {"type": "object", "properties": {"x": _moved(_without_id(case["schema"]))}, "required": ["x"]}
        try:
            validator = compile_schema(check_schema(schema, where="suite"))
        except SchemaInvalid as error:
            yield (*where, f"refused: {error.reason}")
            continue
        for test in case["tests"]:
            if validator.accepts({"x": test["data"]}) != test["valid"]:
                yield (*where, test["description"], _rule(path.stem, case["schema"], test))


def _without_id(schema: Any) -> Any:
    """The schema without the draft and id that only a root may have."""
    if not isinstance(schema, dict) or schema.get("$schema", _DRAFT) != _DRAFT:
        return schema
    return {word: item for word, item in schema.items() if word not in ("$schema", "$id")}


def _moved(node: Any) -> Any:
    """The schema with its local references put to where it stands now: below a property of the tool."""
    if isinstance(node, list):
        return [_moved(item) for item in node]
    if not isinstance(node, dict):
        return node
    moved = {name: _moved(item) for name, item in node.items()}
    reference = node.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        moved["$ref"] = "#/properties/x" + reference[1:]
    return moved


def _rule(stem: str, schema: Any, test: Any) -> str:
    """Why the answer differs: the suite's answer comes back when the rule is set aside."""
    if _answer(schema, _without_points(test["data"])) == test["valid"] and _has_point(test["data"]):
        return "strict integers"
    if _answer(schema, test["data"]) == test["valid"]:
        return "closed"
    return "asserted formats" if stem == "format" else "unexplained"


def _answer(schema: Any, value: Any) -> bool:
    """What the validator answers without the dialect's closing."""
    return compile_schema(schema).accepts(value)


def _has_point(value: Any) -> bool:
    return json.dumps(value) != json.dumps(_without_points(value))


def _without_points(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_points(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_points(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
