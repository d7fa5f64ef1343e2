"""What a tool returned goes out as a result of the published shape, cut as the entry says, or not at all."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping

import pytest
from pydantic import BaseModel, TypeAdapter, field_serializer

from gatewright.middleware.page import Page
from gatewright.middleware.publish import plan_release, published_schema
from gatewright.middleware.release import plain_value, release_stored, release_value
from gatewright.middleware.results import FORBIDDEN, FailedResult, Ok, OkPage, Result
from gatewright.policy.dialect import check_schema, compile_schema
from gatewright.policy.model import Json, Schema, ToolSpec
from gatewright.policy.references import MISSING, Missing
from gatewright.policy.toolfile import ResultCuts

KEY = b"tenant key"


class Line(BaseModel):
    """An item."""

    ts: str
    email: str
    ward: str = "a"


class Loud(Line):
    """A subclass with more than the schema says."""

    password: str = "s3cret-canary"


LINE = check_schema(TypeAdapter(Line).json_schema(), where="test")
LINES = check_schema(TypeAdapter(Page[Line]).json_schema(mode="serialization"), where="test")


def no_lookup(kind: str, path: str) -> Json | Missing:
    """Nothing to fill references with."""
    return MISSING


def spec(result: Schema | None, kind: str = "read") -> ToolSpec:
    """A tool with this result schema."""
    return ToolSpec("logs.query", kind, "read", "Lines.", "When", "Not", {"type": "object"}, result)  # type: ignore[arg-type]


def release(value: object, result: Schema | None = None, cuts: ResultCuts | None = None, kind: str = "read") -> Result:
    """The result of a tool that returned *value*."""
    return release_value(value, plan_release(spec(result, kind), cuts or ResultCuts()), KEY, no_lookup).result


@dataclasses.dataclass
class Point:
    """A plain dataclass."""

    x: int
    when: dt.date


def test_values_go_out_in_their_json_form() -> None:
    """Models, dataclasses, dates, tuples, None, scalars."""
    assert release(Point(1, dt.date(2026, 1, 2))) == Ok({"x": 1, "when": "2026-01-02"})
    assert release((1, [True, None, "a", 0.5])) == Ok([1, [True, None, "a", 0.5]])
    assert release(None) == Ok(None)
    assert release(Line(ts="t", email="e"), LINE) == Ok({"ts": "t", "email": "e", "ward": "a"})


def test_a_released_value_shares_nothing_with_the_tool_s() -> None:
    """A cached object that the tool changes later changes no result."""
    inner: list[int] = [1]
    released = release({"a": inner})
    inner.append(2)
    assert released == Ok({"a": [1]})


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], object(), "\ud800", {"\ud800": 1}, b"\xff", lambda: 1],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize(("kind", "effect"), [("read", "none"), ("write", "done")])
def test_what_is_no_json_is_withheld(value: object, kind: str, effect: str) -> None:
    """For a write the effect is done all the same."""
    assert release(value, kind=kind) == FailedResult("invalid_result", effect)  # type: ignore[arg-type]


def test_the_error_of_a_value_that_is_no_json_says_nothing() -> None:
    """No text of a serializer, no cause."""

    class Odd(BaseModel):
        x: int = 1

        @field_serializer("x")
        def refuse(self, value: int) -> int:
            raise RuntimeError("s3cret-canary")

    for value in (Odd(), {"a": object()}):
        with pytest.raises(ValueError, match="no JSON form") as caught:
            plain_value(value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("number", [1.0, 1e16, 1e22, -0.0, 2e300])
def test_an_integral_float_never_passes_for_an_integer(number: float) -> None:
    """The strict rule for arguments holds for results too (CASES 49)."""
    schema: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    assert release({"n": number}, schema) == FailedResult("invalid_result")
    assert release({"n": 3}, schema) == Ok({"n": 3})
    assert release({"n": True}, schema) == FailedResult("invalid_result")


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_value_of_the_wrong_shape_is_withheld(kind: str) -> None:
    """Missing, extra or mistyped fields, a subclass that says more: invalid_result, with the effect of the kind."""
    effect = "done" if kind == "write" else "none"
    for value in ({"ts": "t"}, {"ts": "t", "email": 3, "ward": "a"}, [Line(ts="t", email="e")], None):
        assert release(value, LINE, kind=kind) == FailedResult("invalid_result", effect)  # type: ignore[arg-type]
    assert release(Loud(ts="t", email="e"), LINE, kind=kind) == FailedResult("invalid_result", effect)  # type: ignore[arg-type]


@pytest.mark.promise("P5")
def test_an_empty_page_is_an_honest_one() -> None:
    """All three fields, and the constant mark where rows are filtered."""
    assert release(Page[Line](items=[]), LINES) == OkPage([])
    kept = ResultCuts(keep={("items",): {"ward": {"const": "b"}}})
    full = Page[Line](items=[Line(ts="t", email="e")])
    assert release(full, LINES, kept) == release(Page[Line](items=[]), LINES, kept) == OkPage([], filtered=True)


def test_what_is_declared_as_a_page_is_one() -> None:
    """By its schema or by its class: a tool may return the plain JSON of a page, or have no schema."""
    plain: Json = {"items": [], "next_cursor": "c", "truncated": False}
    assert release(plain, LINES) == OkPage([], "c")
    assert release(Page[int](items=[1])) == OkPage([1])
    assert release(plain) == Ok(plain)
    three: Schema = {"properties": {"items": {"type": "array"}, "next_cursor": {}, "truncated": {}}}
    assert release(plain, three) == OkPage([], "c")
    assert release(None, three) == Ok(None)


@pytest.mark.promise("P5")
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_refused_value_is_never_null(kind: str) -> None:
    """Also where the result schema would accept null."""
    nullable: Schema = {"type": ["object", "null"], "properties": {"n": {"type": "integer"}}}
    withheld = FailedResult("invalid_result", "done" if kind == "write" else "none")
    forbidden = release({"n": 9}, nullable, ResultCuts(only_if={"n": {"minimum": 10}}), kind)
    assert forbidden == (FORBIDDEN if kind == "read" else withheld)
    assert release({"n": 9}, nullable, ResultCuts(show=()), kind) == withheld
    assert release(None, nullable, ResultCuts(show=(("n",),)), kind) == withheld


def test_a_page_keeps_its_marks() -> None:
    """Cursor, truncation and what it is of."""
    page = Page[Line](items=[], next_cursor="c", truncated=True, as_of="now", version="3", ref="r")
    assert release(page, LINES) == OkPage([], "c", True, as_of="now", version="3", ref="r")


def test_rows_set_the_mark() -> None:
    """Of a page and of a plain list."""
    page = Page[Line](items=[Line(ts=str(n), email="e") for n in range(3)], next_cursor="c")
    found = release(page, LINES, ResultCuts(rows=2))
    assert isinstance(found, OkPage)
    assert (len(found.items), found.next_cursor, found.truncated) == (2, "c", True)
    numbers: Schema = {"type": "array", "items": {"type": "integer"}}
    assert release([1, 2, 3], numbers, ResultCuts(rows=2)) == Ok([1, 2], truncated=True)


@pytest.mark.parametrize(
    ("cuts", "left"),
    [
        (ResultCuts(hidden=(("items", "*", "email"),)), [{"ts": "t", "ward": "a"}]),
        (ResultCuts(show=(("items", "*", "ts"),)), [{"ts": "t"}]),
        (ResultCuts(mask={("items", "*", "email"): "prefix2"}), [{"ts": "t", "email": "am*****", "ward": "a"}]),
    ],
)
def test_a_cut_page_is_still_a_page(cuts: ResultCuts, left: list[Json]) -> None:
    """`show` need not name the cursor, and the published schema agrees."""
    page = Page[Line](items=[Line(ts="t", email="amy@x.y")], next_cursor="c")
    found = release(page, LINES, cuts)
    assert found == OkPage(left, "c")
    assert compile_schema(published_schema(LINES, cuts)).accepts(without_status(found))
    assert "amy@x.y" not in str(found.to_json())


def without_status(result: Result) -> Mapping[str, Json]:
    """The content of a page."""
    return {name: value for name, value in result.to_json().items() if name != "status"}


@pytest.mark.parametrize("cuts", [ResultCuts(hidden=(("next_cursor",),)), ResultCuts(mask={("next_cursor",): "last4"})])
def test_a_cursor_that_is_taken_away_is_null_and_marked(cuts: ResultCuts) -> None:
    """The field stays, and what can't be reached any more is said to be left out."""
    found = release(Page[Line](items=[], next_cursor="cursor"), LINES, cuts)
    assert found == OkPage([], None, True)
    accepts = compile_schema(published_schema(LINES, cuts)).accepts
    assert accepts(without_status(found))
    assert not accepts({**without_status(found), "next_cursor": "c"})


@pytest.mark.promise("P5")
@pytest.mark.parametrize("cuts", [ResultCuts(hidden=(("items",),)), ResultCuts(show=(("next_cursor",),))])
def test_a_page_whose_items_are_hidden_is_not_an_empty_page(cuts: ResultCuts) -> None:
    """Nothing that was taken away may look like nothing found."""
    page = Page[Line](items=[Line(ts="t", email="e")])
    assert release(page, LINES, cuts) == FailedResult("invalid_result")


@pytest.mark.promise("P5")
@pytest.mark.case(73)
def test_only_if_that_does_not_hold_is_forbidden() -> None:
    """Never an empty value; a write has happened, so it can't be refused any more."""
    cohort: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    cuts = ResultCuts(only_if={"n": {"minimum": 10}})
    assert release({"n": 9}, cohort, cuts) is FORBIDDEN
    assert release({}, cohort, cuts) is FORBIDDEN
    assert release({"n": 10}, cohort, cuts) == Ok({"n": 10})
    assert release({"n": 9}, cohort, cuts, kind="write") == FailedResult("invalid_result", "done")


def test_a_late_reference_in_a_condition_is_filled() -> None:
    """`$argument` and the like come from the call; what can't be filled does not satisfy."""
    wards: Schema = {"type": "array", "items": {"type": "object", "properties": {"ward": {"type": "string"}}}}
    cuts = ResultCuts(keep={(): {"ward": {"const": {"$argument": "ward"}}}})
    plan = plan_release(spec(wards), cuts)

    def lookup(kind: str, path: str) -> Json | Missing:
        return "b" if (kind, path) == ("$argument", "ward") else MISSING

    value = [{"ward": "a"}, {"ward": "b"}]
    assert release_value(value, plan, KEY, lookup).result == Ok([{"ward": "b"}], filtered=True)
    assert release_value(value, plan, KEY, no_lookup).result == Ok([], filtered=True)


def test_cuts_without_a_result_schema_let_nothing_through() -> None:
    """Nobody can say whether a pointer reached what it was meant to take."""
    assert release({"a": 1}, None, ResultCuts(hidden=(("b",),))) == FailedResult("invalid_result")


def test_a_value_that_a_cut_does_not_fit_is_withheld() -> None:
    """Here `keep` meets a map, which the schema allows."""
    either: Schema = {"type": "object", "properties": {"rows": {"type": ["array", "object"]}}}
    cuts = ResultCuts(keep={("rows",): {"ward": {}}})
    assert release({"rows": {"a": {"ward": "b"}}}, either, cuts) == FailedResult("invalid_result")


@pytest.mark.case(86)
def test_a_stored_result_gets_today_s_cuts_on_top() -> None:
    """What was released once is not released again once it is cut; the marks of the first time stay."""
    stored = OkPage([{"ts": "t", "email": "e", "ward": "a"}], "c", True, True, "now")
    plan = plan_release(spec(LINES), ResultCuts(hidden=(("items", "*", "email"),), show=(("items",), ("as_of",))))
    assert release_stored(stored, plan, KEY, no_lookup).result == OkPage(
        [{"ts": "t", "ward": "a"}], "c", True, True, "now"
    )
    uncut = plan_release(spec(LINES), ResultCuts())
    assert release_stored(stored, uncut, KEY, no_lookup).result == stored
    data = Ok({"ts": "t", "email": "e", "ward": "a"}, True, True, "now", "3", "r")
    masked = plan_release(spec(LINE), ResultCuts(mask={("email",): "redact"}))
    assert release_stored(data, masked, KEY, no_lookup).result == dataclasses.replace(
        data, data={"ts": "t", "email": "***", "ward": "a"}
    )


@pytest.mark.parametrize(
    ("value", "cuts", "reason"),
    [
        ({"n": 10}, ResultCuts(), ""),
        ({"n": float("nan")}, ResultCuts(), "not_json"),
        ({"n": "10"}, ResultCuts(), "shape"),
        ({"n": 9}, ResultCuts(only_if={"n": {"minimum": 10}}), "only_if"),
        ({"n": 9}, ResultCuts(show=()), "unfit"),
    ],
)
def test_the_event_log_learns_why_a_value_was_withheld(value: Json, cuts: ResultCuts, reason: str) -> None:
    """The caller does not."""
    numbers: Schema = {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False}
    for kind in ("read", "write"):
        assert release_value(value, plan_release(spec(numbers, kind), cuts), KEY, no_lookup).reason == reason


def test_plans_are_compiled_once() -> None:
    """For the same spec and cuts; other objects get another plan."""
    tool, cuts = spec(LINES), ResultCuts(rows=1)
    assert plan_release(tool, cuts) is plan_release(tool, cuts)
    assert plan_release(tool, cuts) is not plan_release(tool, ResultCuts(rows=1))


@pytest.mark.parametrize(
    "root",
    [
        {"$ref": "#/$defs/Lines"},
        {"allOf": [{"$ref": "#/$defs/Lines"}]},
        {"$ref": "#/$defs/Alias", "description": "Lines."},
    ],
)
def test_a_page_behind_a_reference_is_a_page(root: Schema) -> None:
    """Generators of schemas like to put the root under a name."""
    definitions = dict(LINES["$defs"])  # type: ignore[call-overload]
    body = {name: value for name, value in LINES.items() if name != "$defs"}
    schema: Schema = {**root, "$defs": {**definitions, "Lines": body, "Alias": {"$ref": "#/$defs/Lines"}}}
    cuts = ResultCuts(show=(("items", "*", "ts"),), rows=1)
    page = Page[Line](items=[Line(ts="t", email="e"), Line(ts="u", email="e")], next_cursor="c")
    assert release(page, schema, cuts) == OkPage([{"ts": "t"}], "c", True)
    assert release(page.model_dump(), schema) == OkPage([dict(each) for each in page.items], "c")
    assert "email" not in json.dumps(published_schema(schema, cuts))


def test_hidden_names_are_not_published() -> None:
    """The result schema that a caller is shown follows its cuts."""
    plan = plan_release(spec(LINES), ResultCuts(hidden=(("items", "*", "email"),)))
    assert "email" not in json.dumps(plan.published)
    assert "ward" in json.dumps(plan.published)
    assert plan_release(spec(None), ResultCuts()).published is None


@pytest.mark.parametrize("cuts", [ResultCuts(), ResultCuts(hidden=(("items", "*", "email"),))])
def test_a_page_has_no_total_of_the_tools_own(cuts: ResultCuts) -> None:
    """It would count rows that the caller may not see: it does not leave, and is in no published schema."""

    class Counted(Page[Line]):
        total: int

    schema: Schema = TypeAdapter(Counted).json_schema(mode="serialization")
    schema = {**schema, "properties": {**schema["properties"], "total": {"type": "integer"}}}  # type: ignore[dict-item]
    schema = {**schema, "required": ["items", "next_cursor", "truncated", "total"]}
    found = release(Counted(items=[Line(ts="t", email="e")], total=1234), schema, cuts)
    assert isinstance(found, OkPage)
    assert b"1234" not in found.to_bytes()
    published = published_schema(schema, cuts)
    assert "total" not in json.dumps(published)
    assert compile_schema(published).accepts(without_status(found))
