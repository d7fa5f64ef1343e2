"""
The `gatewright` command: which subcommands there are, and how each one ends.

Exit codes: 0 clean, 1 findings or a difference, 2 could not run. A user's mistake is one line on standard error, never
a traceback.
"""

from __future__ import annotations

import sys

import typer

from gatewright.cli import (
    approving,
    calls,
    exporting,
    importing,
    operating,
    policies,
    revoking,
    schemas,
    storing,
    tokens,
)
from gatewright.cli.effect import effective
from gatewright.cli.revisions import migrate, rollback
from gatewright.cli.tests import run_policy_tests
from gatewright.middleware.stores import StoreUnavailable
from gatewright.policy.errors import Misuse, PolicyInvalid

__all__ = ["app", "main"]

app: typer.Typer = typer.Typer(
    name="gatewright",
    help="Authorization between a language model and the functions it may call.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command("check")(policies.check)
app.command("catalog")(policies.catalog)
app.command("test")(run_policy_tests)
app.command("rollback")(rollback)
app.command("migrate")(migrate)
app.command("import")(importing.import_list)
app.command("effective")(effective)
app.command("schema")(schemas.schema)
app.command("docs")(schemas.docs)
app.add_typer(calls.app, name="events")
app.add_typer(exporting.app, name="export")
app.add_typer(tokens.app, name="token")
app.add_typer(storing.app, name="store")
app.add_typer(revoking.app, name="revoke")
app.add_typer(operating.app, name="operations")
app.add_typer(approving.app, name="approvals")


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    try:
        app()
    except (Misuse, StoreUnavailable) as error:
        _fail(str(error))
    except PolicyInvalid as error:
        _fail(f"{error}\nThe policies do not load.")


def _fail(text: str) -> None:
    print(text, file=sys.stderr)
    raise SystemExit(2)
