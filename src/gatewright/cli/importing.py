"""
The command that takes over somebody else's tools: their list normalised into our dialect, with a report.

In comes a JSON file; out come report lines and, where asked for, one schema file a tool. Registers nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, cast

import typer

from gatewright.policy.errors import Misuse
from gatewright.policy.importer import Imported, import_tools
from gatewright.policy.model import Json

__all__ = ["import_list"]


def import_list(
    tools: Annotated[Path, typer.Argument(help="A tool list for OpenAI, Anthropic, Gemini or MCP, or of a benchmark.")],
    write: Annotated[Path | None, typer.Option(help="A folder to write one schema file a tool to.")] = None,
) -> None:
    """Normalise a foreign tool list into schemas that register, and report every change and what it does."""
    found = import_tools(_read(tools))
    for line in found.report:
        print(line)
    if write is not None:
        _write(found, write)
    print(f"tools: {len(found.tools)}, not taken: {len(found.faults)}", file=sys.stderr)
    if found.faults or not found.tools:
        raise typer.Exit(1)


def _read(path: Path) -> Json:
    try:
        return cast("Json", json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise Misuse(f"{path} cannot be read as JSON", "a tool list in one file") from error


def _write(found: Imported, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for tool in found.tools:
        text = json.dumps(tool.schema, ensure_ascii=False, indent=2)
        (folder / f"{tool.name}.json").write_text(text + "\n", "utf-8")
