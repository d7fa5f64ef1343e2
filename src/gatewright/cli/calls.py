"""
Commands about calls: what happened to one, and to a whole interaction?

In come ids and the places of stores; out come stories that a person can read. Changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.events import show_call, show_interaction
from gatewright.cli.verifying import verify
from gatewright.middleware.places import EVENTS, LEDGER
from gatewright.policy.errors import Misuse

__all__ = ["app", "interaction", "show"]

app: typer.Typer = typer.Typer(help="What happened to calls.", no_args_is_help=True)
app.command("verify")(verify)

_DEFAULT = (EVENTS, LEDGER)
_Places = Annotated[list[str] | None, typer.Option("--from", help="A journal or ledger; may be said several times.")]


@app.command()
def show(call: Annotated[str, typer.Argument(help="The runtime's id of the call.")], places: _Places = None) -> None:
    """Tell the story of one call."""
    _tell(show_call, call, places)


@app.command()
def interaction(
    id: Annotated[str, typer.Argument(help="The application's id of the interaction.")], places: _Places = None
) -> None:
    """Tell what happened in one interaction, a line a call."""
    _tell(show_interaction, id, places)


def _tell(story: Callable[[str, Iterable[str | Path]], str], id: str, places: list[str] | None) -> None:
    found: list[str | Path] = [*places] if places else [place for place in _DEFAULT if place.exists()]
    if not found:
        raise Misuse("there is no journal here", "say --from PATH, once for each store")
    try:
        print(story(id, found))
    except LookupError:
        print(f"{id} is not recorded", file=sys.stderr)
        raise typer.Exit(1) from None
