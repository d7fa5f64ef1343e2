"""
Commands that write policies for others: what stock Casbin reads.

In come a policies folder and a day; out come files in another folder. Writes nothing where a row could not be told.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Annotated

import typer

from gatewright.policy.errors import Misuse
from gatewright.policy.export import export_casbin
from gatewright.policy.folder import load_policies
from gatewright.policy.source import read_folder

__all__ = ["app", "casbin"]

app: typer.Typer = typer.Typer(help="Write policies for others.", no_args_is_help=True)


@app.callback()
def export() -> None:
    """Write policies for others."""


@app.command()
def casbin(
    policies: Annotated[Path, typer.Argument(help="The policies folder.")] = Path("policies"),
    to: Annotated[Path, typer.Option(help="The folder to write model.conf and policy.csv into.")] = Path("casbin"),
    day: Annotated[str, typer.Option(help="The day whose rows count, YYYY-MM-DD; today (UTC) without.")] = "",
) -> None:
    """Write the model and the rows that count on a day, as wide as the model has them, for stock Casbin."""
    files = export_casbin(load_policies(read_folder(policies)), _day(day))
    to.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (to / name).write_text(text, "utf-8", newline="\n")
    print(f"{' and '.join(files)} are in {to}", file=sys.stderr)


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text) if text else dt.datetime.now(dt.UTC).date()
    except ValueError:
        raise Misuse(f"{text} is no day", "write YYYY-MM-DD") from None
