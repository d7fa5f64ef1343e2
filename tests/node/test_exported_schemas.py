"""Exported schemas accept and refuse the same in JavaScript as here: ajv, zod and the TypeScript compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from gatewright.policy.keywords import FORMATS
from gatewright.policy.strictness import holds_integral_float
from gatewright.policy.typescript import render_typescript
from gatewright.policy.zod import render_zod
from properties.random_schemas import corpus, role_schemas
from worlds.product import caller_of, snapshot_of
from worlds.shelf import worlds

PACKAGES = ("ajv@8", "ajv-formats@3", "zod@4", "typescript@5")
LARGEST = 2**53 - 1

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary folder with the packages in it."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs Node and npm: install Node 20 or newer")
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    answer = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    if answer.returncode:
        pytest.skip("needs the npm registry: ajv, ajv-formats, zod and typescript cannot be installed")
    shutil.copy(Path(__file__).with_name("judge.mjs"), folder)
    return folder


def judged(shop: Path, schemas: list[Any], values: list[list[Any]]) -> list[list[list[bool]]]:
    """What ajv and zod say of each schema's values."""
    for index, schema in enumerate(schemas):
        (shop / f"schema{index}.mjs").write_text(render_zod("a.b", schema))
    asked = json.dumps({"schemas": schemas, "values": values}, default=dict)
    done = subprocess.run(["node", "judge.mjs"], cwd=shop, input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[list[list[bool]]] = json.loads(done.stdout)
    return answers


def sayable(value: Any) -> bool:
    """Whether JavaScript can hold *value* as it is: to it 1.0 is 1, and large integers are others."""
    if isinstance(value, dict | list):
        return all(map(sayable, value.values() if isinstance(value, dict) else value))
    return not holds_integral_float(value) and not (isinstance(value, int) and abs(value) > LARGEST)


def assert_alike(shop: Path, schemas: list[Any], values: list[list[Any]]) -> int:
    """
    Compare every answer; return how many there were.

    ajv 8 takes an empty array under `contains` beside `maxContains`; 2020-12 does not, and there zod alone counts.
    """
    for schema, asked, answers in zip(schemas, values, judged(shop, schemas, values), strict=True):
        accepts = compile_schema(schema).accepts
        is_known = '"contains"' in json.dumps(schema, default=dict)
        for value, (ajv, zod) in zip(asked, answers, strict=True):
            assert zod == accepts(value), (schema, value)
            assert is_known or ajv == zod, (schema, value)
    return sum(map(len, values))


def changed(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """*arguments*, and what they become when one of them is left out, added or of another kind."""
    found = [arguments, {**arguments, "made_up": 1}, {}]
    for name in arguments:
        found.append({other: value for other, value in arguments.items() if other != name})
        found += [{**arguments, name: value} for value in (None, True, -1, 0.5, "", "x", [], {})]
    return found


def test_every_role_schema_of_the_worlds_means_the_same_in_javascript(shop: Path) -> None:
    """Each tool as each caller of a case has it, with the case's arguments and near misses of them."""
    asked: dict[str, tuple[Any, list[Any]]] = {}
    for world in worlds():
        snapshot = snapshot_of(world)
        for case in world.cases:
            view = snapshot.view(caller_of(world.callers[case.person]), case.tool, world.time_of(case).date())
            if view is not None:
                _, values = asked.setdefault(json.dumps(view.schema, default=dict), (view.schema, []))
                values += [value for value in changed(case.arguments) if sayable(value)]
    assert assert_alike(shop, [schema for schema, _ in asked.values()], [values for _, values in asked.values()]) > 5000


def test_random_schemas_mean_the_same_in_javascript(shop: Path) -> None:
    """Every word of the dialect but the unevaluated ones, which the zod module says it does not check."""
    schemas: list[Any] = []

    @settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(role_schemas())
    def collect(schema: Any) -> None:
        try:
            checked = check_schema(schema, where="t")
        except SchemaInvalid:
            return
        if "unevaluated" not in json.dumps(checked):
            schemas.append(checked)

    with warnings.catch_warnings():
        collect()
    values = [value for value in corpus(600, seed=8) if isinstance(value, dict) and sayable(value)]
    assert assert_alike(shop, schemas, [values] * len(schemas)) > 10_000


FORMAT_VALUES = (
    *("", "x", "2026-02-28", "2026-02-29", "2024-02-29", "2026-13-01", "26-01-01", "2026-1-1", "2026-01-31\n"),
    *(
        "2026-01-31T09:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31T09:00:00",
        "2026-01-31 09:00",
        "2026-02-30T09:00:00Z",
    ),
    *("09:00:00Z", "09:00:00+02:00", "9:00Z", "24:00:00Z"),
    *("PT1H", "P1DT2H", "P1W", "P", "1H", "PT"),
    *("name@example.com", "name", "@example.com", "a@b@c"),
    *("www.example.com", "-a.example", "a_b.example"),
    *("192.0.2.1", "192.0.2", "256.0.0.1", "2001:db8::1", "::", "2001:::1"),
    *("/a/0", "/a~0b", "/a~2", "a"),
    *("https://example.com/a", "//example.com", "not a uri"),
    *("123e4567-e89b-12d3-a456-426614174000", "123e4567"),
)


@pytest.mark.parametrize("format", sorted(FORMATS - {"uri-reference"}))
def test_every_format_means_the_same_in_javascript(shop: Path, format: str) -> None:
    """Common right and wrong strings of each format."""
    schema = check_schema({"type": "object", "properties": {"x": {"type": "string", "format": format}}}, where="t")
    assert_alike(shop, [schema], [[{"x": text} for text in FORMAT_VALUES]])


def test_every_typescript_module_compiles(shop: Path) -> None:
    """The types of the worlds' role schemas, under the compiler's strict rules; a wrong use is an error."""
    types = shop / "types"
    types.mkdir()
    modules = 0
    for world in worlds():
        snapshot = snapshot_of(world)
        for person, tool in sorted({(case.person, case.tool) for case in world.cases}):
            view = snapshot.view(caller_of(world.callers[person]), tool, world.now.date())
            if view is not None:
                (types / f"m{modules}.ts").write_text(render_typescript(tool, view.schema))
                modules += 1
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    (types / "own.ts").write_text(render_typescript("own", schema))
    use = 'import type { OwnArguments } from "./own.js";\nexport const x: OwnArguments = {};\n'
    (types / "use.ts").write_text(use)
    tsc = ["npx", "tsc", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    done = subprocess.run(
        [*tsc, *sorted(map(str, types.glob("*.ts")))], cwd=shop, capture_output=True, text=True, check=False
    )
    errors = [line for line in done.stdout.splitlines() if "error" in line]
    assert modules > 10
    assert len(errors) == 1, done.stdout
    assert "use.ts" in errors[0]
