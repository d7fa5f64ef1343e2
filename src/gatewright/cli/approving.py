"""
Commands for approvers: what waits for them, and their answer, with a token of their own.

In come the name of a guard and where a token is; out come the calls that wait, or the state of one. A token is never an
argument: those stand in the list of processes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.policies import find_guard
from gatewright.middleware.approvals import WaitingCall
from gatewright.middleware.credential import TokenFile, TokenVariable, ask
from gatewright.middleware.failures import Stopped
from gatewright.middleware.results import Ok, Result
from gatewright.policy.errors import Misuse

__all__ = ["app", "approve", "list_waiting", "reject", "withdraw"]

app: typer.Typer = typer.Typer(help="Calls that wait for a person.", no_args_is_help=True)

_VARIABLE = "GATEWRIGHT_TOKEN"
_Guard = Annotated[str, typer.Argument(help="Where the guard is, as module:name; a function is called for it.")]
_Id = Annotated[str, typer.Argument(help="The approval's id.")]
_File = Annotated[Path | None, typer.Option("--token-file", help="A file with your token.")]
_Variable = Annotated[str, typer.Option("--token-env", help="The variable with your token, where no file is said.")]


@app.command("list")
def list_waiting(guard: _Guard, file: _File = None, variable: _Variable = _VARIABLE) -> None:
    """List the calls that wait for you, oldest first, each with the very arguments that would run."""
    token = _token(file, variable)
    with find_guard(guard) as found:
        try:
            waiting = found.approvals.waiting(token)
        except Stopped as stopped:
            _tell(stopped.result)
            raise typer.Exit(1) from None
    for each in waiting:
        print(json.dumps(_shown(each)))


@app.command()
def approve(guard: _Guard, id: _Id, file: _File = None, variable: _Variable = _VARIABLE) -> None:
    """Say yes to one call."""
    _answer(guard, "approve", id, _token(file, variable))


@app.command()
def reject(guard: _Guard, id: _Id, file: _File = None, variable: _Variable = _VARIABLE) -> None:
    """Say no: one is enough."""
    _answer(guard, "reject", id, _token(file, variable))


@app.command()
def withdraw(guard: _Guard, id: _Id, file: _File = None, variable: _Variable = _VARIABLE) -> None:
    """Take back what you said, or the request where you asked for it."""
    _answer(guard, "withdraw", id, _token(file, variable))


def _answer(guard: str, answer: str, id: str, token: str) -> None:
    with find_guard(guard) as found:
        result: Result = getattr(found.approvals, answer)(id, token)
    _tell(result)
    if not isinstance(result, Ok):
        raise typer.Exit(1)


def _token(file: Path | None, variable: str) -> str:
    """Return the token, from the file that is said or the variable."""
    token = ask(TokenVariable(variable) if file is None else TokenFile(file))
    if token is None:
        raise Misuse("there is no token", f"put yours into {variable}, or say --token-file")
    return token


def _shown(each: WaitingCall) -> dict[str, object]:
    return {
        "id": each.id,
        "tool": each.tool,
        "subject": each.subject,
        "actor": each.actor,
        "roles": list(each.roles),
        "state": each.state,
        "missing": each.missing,
        "requested_at": each.requested_at,
        "expires_at": each.expires_at,
        "arguments": each.arguments,
    }


def _tell(result: Result) -> None:
    print(result.to_bytes().decode(), file=sys.stdout if isinstance(result, Ok) else sys.stderr)
