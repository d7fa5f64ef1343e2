"""The public JSON Schema test suite through our own registration and calls; every difference is a written rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from desk import WORDS, Desk, open_desk
from gatewright import Misuse
from gatewright.policy.dialect import SchemaInvalid, compile_schema
from shared_data import shared

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
LIST = Path(__file__).with_name("json_schema_differences.txt")
RULES = {
    "closed": "DESIGN 5: absent additionalProperties is closed",
    "strict integers": "DESIGN 5: an integral float for an integer is refused",
    "asserted formats": "DESIGN 5: the dialect's formats are asserted",
    "exact integers": "DESIGN 3, decode: integers within ±(2⁵³−1) unless the tool declares big integers",
    "strict decoding": "DESIGN 3, decode: NUL and lone surrogates are refused",
}
CODES = {
    "number_out_of_range": "exact integers",
    "nul_character": "strict decoding",
    "lone_surrogate": "strict decoding",
}
REFUSALS = {
    "unknown_keyword",
    "unsupported_keyword",
    "unknown_format",
    "unsupported_pattern",
    "remote_reference",
    "unsupported_reference",
    "dangling_reference",
    "self_reference",
    "ambiguous_alternatives",
    "required_undeclared",
    "not_a_schema",
    "too_deep",
    "unsupported_draft",
    "ambiguous_reference",
}


@dataclass(frozen=True)
class Case:
    """One schema of the suite as a tool: its argument `x` has the schema."""

    where: str
    schema: Any
    tests: list[Any]
    tool: str

    def register(self, desk: Desk, received: list[Any]) -> None:
        """Register it as an application would."""

        def take(x: Any) -> bool:
            """Take a value."""
            received.append(x)
            return True

        argument = _moved(_without_id(self.schema))
        schema = {"type": "object", "properties": {"x": argument}, "required": ["x"]}
        desk.guard.tool(self.tool, kind="read", schema=schema, **WORDS)(take)


@cache
def cases() -> list[Case]:
    """Every schema of the suite, the optional ones too."""
    folder = shared("data/json-schema-test-suite/tests/draft2020-12")
    found: list[Case] = []
    for path in sorted(folder.rglob("*.json")):
        stem = path.relative_to(folder).with_suffix("").as_posix()
        for case in json.loads(path.read_text("utf-8")):
            where = f"{stem} | {case['description']}"
            found.append(Case(where, case["schema"], case["tests"], f"suite.{len(found)}"))
    return found


def refused() -> dict[str, str]:
    """The reasons of the schemas that do not register, by tool."""
    desk, reasons = open_desk(tools=False), {}
    for case in cases():
        try:
            case.register(desk, [])
        except Misuse as error:
            cause = error.__cause__
            reasons[case.tool] = cause.reason if isinstance(cause, SchemaInvalid) else str(error)
    return reasons


def differences() -> Iterator[str]:
    """Register every schema, call it with every value, and yield a line wherever the suite says otherwise."""
    reasons = refused()
    taken = [case for case in cases() if case.tool not in reasons]
    rows = "".join(f"p, agent, *, {case.tool}, call, allow\n" for case in taken)
    tools = "---\n".join(f"tool: {case.tool}\nallow: [ {{ id: a, roles: [agent] }} ]\n" for case in taken)
    desk, received = open_desk({"rows": rows, "tools": tools}, tools=False), list[Any]()
    for case in taken:
        case.register(desk, received)
    for case in cases():
        if case.tool in reasons:
            yield f"{case.where} | refused: {reasons[case.tool]}"
            continue
        for test in case.tests:
            answer = desk.call(case.tool, {"x": test["data"]}).to_json()
            assert answer["status"] in ("ok", "invalid_arguments")
            if answer["status"] == "ok":
                given = json.dumps(received.pop())
                assert given == json.dumps(test["data"]) or case.where.startswith("default |"), "as it was sent"
            if (answer["status"] == "ok") != test["valid"]:
                yield f"{case.where} | {test['description']} | {_rule(case, test, answer)}"
    assert received == [], "nothing runs but what is allowed"


@pytest.mark.case(49)
@pytest.mark.case(50)
@pytest.mark.case(51)
@pytest.mark.case(55)
def test_every_difference_from_the_suite_is_written_down() -> None:
    """What does not register, and what is answered otherwise, is the list beside this test, to the line."""
    assert list(differences()) == LIST.read_text("utf-8").splitlines()


def test_every_difference_is_a_refusal_or_a_rule() -> None:
    """No line of the list is an accident: it names a refusal at registration or a rule, and stands once."""
    lines = LIST.read_text("utf-8").splitlines()
    ends = [line.rsplit(" | ", 1)[1] for line in lines]
    assert {end.removeprefix("refused: ") for end in ends if end.startswith("refused: ")} <= REFUSALS
    assert {end for end in ends if not end.startswith("refused: ")} <= set(RULES)
    assert [line for line, count in Counter(lines).items() if count > 1] == []


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


def _rule(case: Case, test: Any, answer: Any) -> str:
    """Why the answer differs: the suite's answer comes back when the rule is set aside."""
    if answer["status"] != "ok" and answer["errors"][0]["layer"] == "syntax":
        return CODES.get(answer["reason"], "unexplained")
    if _has_point(test["data"]) and _answer(case.schema, _without_points(test["data"])) == test["valid"]:
        return "strict integers"
    if _answer(case.schema, test["data"]) == test["valid"]:
        return "closed"
    return "asserted formats" if case.where.startswith("format | ") else "unexplained"


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
