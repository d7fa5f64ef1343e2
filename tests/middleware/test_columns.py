"""Conditions of a row scope in SQL, against the rows themselves: never a row too few, and none too many where said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Date,
    Engine,
    Float,
    Integer,
    MetaData,
    Numeric,
    String,
    Table,
    create_engine,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.pool import StaticPool

from gatewright.middleware.columns import column_of, row_condition
from gatewright.middleware.scope import RowScope

META = MetaData()
ROWS = Table(
    "rows",
    META,
    Column("id", Integer, primary_key=True),
    Column("branch", String),
    Column("pieces", Integer),
    Column("weight", Float),
    Column("open", Boolean),
    Column("price", Numeric(10, 2)),
)
TEXTS = (None, "", "north", "North", "south", "zh1", "n\u00e9", "a'b", "%", "north ")
NUMBERS = (None, -1, 0, 1, 2, 10)
COLUMNS = ("branch", "pieces", "weight", "open")


class Base(DeclarativeBase):
    """Mapped classes of these tests."""


class MappedRow(Base):
    """The same table, mapped."""

    __tablename__ = "mapped"
    id: Mapped[int] = mapped_column(primary_key=True)
    branch: Mapped[str]


def stored() -> list[dict[str, Any]]:
    """Rows of every kind."""
    rows = []
    for number, (text, pieces) in enumerate((text, pieces) for text in TEXTS for pieces in NUMBERS):
        weight = None if pieces is None else pieces + 0.5 * (number % 2)
        row = {
            "id": number,
            "branch": text,
            "pieces": pieces,
            "weight": weight,
            "open": (None, True, False)[number % 3],
        }
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The rows in SQLite."""
    made = create_engine("sqlite://", poolclass=StaticPool)
    META.create_all(made)
    with made.begin() as connection:
        connection.execute(ROWS.insert(), stored())
    yield made
    made.dispose()


VALUES = st.sampled_from([*TEXTS, *NUMBERS, True, False, 1.5])
LEAVES = st.one_of(
    st.fixed_dictionaries({"const": VALUES}),
    st.fixed_dictionaries({"enum": st.lists(VALUES, min_size=1, max_size=4)}),
    *(
        st.fixed_dictionaries({name: st.sampled_from([-1, 0, 1, 1.5, 10])})
        for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    ),
    *(st.fixed_dictionaries({name: st.sampled_from([0, 1, 5])}) for name in ("minLength", "maxLength")),
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "number", "boolean", "null"])}),
    st.just({"pattern": "^n"}),
    st.just({"not": {}}),
    st.just({}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
        st.builds(lambda one, other: {**one, **other}, inner, inner),
    ),
    max_leaves=4,
)


@settings(max_examples=250, deadline=None)
@given(conditions=st.dictionaries(st.sampled_from(COLUMNS), SCHEMAS, min_size=1, max_size=2))
def test_the_database_leaves_out_no_row_that_may_be_had(engine: Engine, conditions: dict[str, Any]) -> None:
    """What SQL returns holds every row that is admitted, and nothing else where all of it is said."""
    scope = RowScope({"": conditions})
    with engine.connect() as connection:
        found = {row.id for row in connection.execute(select(ROWS.c.id).where(scope.where(ROWS)))}
    admitted = {row["id"] for row in stored() if scope.admits(row)}
    assert admitted <= found
    if not scope.unsaid(ROWS):
        assert found == admitted


@pytest.mark.parametrize(
    "schema",
    [
        {"const": "north"},
        {"enum": ["north", None]},
        {"not": {"const": "north"}},
        {"anyOf": [{"const": "north"}, {"const": None}]},
        {"type": "string", "minLength": 2},
        {"not": {}},
        {},
    ],
)
def test_what_policies_ask_of_rows_is_said_whole(schema: dict[str, Any]) -> None:
    """The usual conditions leave nothing for the release to drop."""
    assert row_condition(ROWS.c.branch, schema)[1]


@pytest.mark.parametrize(
    ("column", "schema"),
    [
        (ROWS.c.branch, {"pattern": "^n"}),
        (ROWS.c.branch, {"const": 1}),
        (ROWS.c.pieces, {"const": "1"}),
        (ROWS.c.pieces, {"const": True}),
        (ROWS.c.open, {"const": 1}),
        (ROWS.c.branch, {"not": {"pattern": "^n"}}),
        (ROWS.c.branch, {"not": {"anyOf": [{"const": None}]}}),
        (ROWS.c.pieces, {"minLength": 1}),
        (Column("day", Date), {"const": "2026-01-01"}),
        (Column("tags", JSON), {"contains": {"const": "x"}}),
        (None, {"const": "north"}),
    ],
)
def test_what_sql_cannot_say_is_left_out_and_told(column: Any, schema: dict[str, Any]) -> None:
    """A pattern means other things there; a value of another type may be compared in other ways."""
    condition, exact = row_condition(column, schema)
    assert str(condition.compile()) == "true" or not exact
    assert not exact


def test_columns_are_found_by_name_in_a_table_a_class_and_a_mapping() -> None:
    """A mapped class has other attributes too, which are no columns."""
    assert column_of(ROWS, "branch") is ROWS.c.branch
    assert column_of(MappedRow, "branch") is MappedRow.branch
    assert column_of({"region": ROWS.c.branch}, "region") is ROWS.c.branch
    assert column_of(ROWS, "none") is column_of(MappedRow, "metadata") is column_of({}, "branch") is None
    assert column_of(select(ROWS).subquery(), "branch") is not None
