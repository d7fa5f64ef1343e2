"""The facts of the worlds' tools, as their developers compute them from filled JSON arguments."""

from __future__ import annotations

import datetime as dt
import posixpath
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

Arguments = Mapping[str, Any]


def _second(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.replace("z", "Z").replace("t", "T"))


def span_s(arguments: Arguments) -> float:
    """Seconds from start to end."""
    seconds = (_second(arguments["end"]) - _second(arguments["start"])).total_seconds()
    return int(seconds) if seconds.is_integer() else seconds


def points(arguments: Arguments) -> int:
    """How many points a query returns."""
    return int(arguments["range_s"] // max(1, arguments["step_s"]))


def sensitive_path(arguments: Arguments) -> bool:
    """Whether the path names an .env file, a secrets folder or a .pem file, is absolute or climbs out."""
    path = posixpath.normpath(arguments["path"].replace("\\", "/")).lower()
    parts = path.split("/")
    return path.startswith("/") or ".." in parts or parts[-1] == ".env" or "secrets" in parts or path.endswith(".pem")


def host(arguments: Arguments) -> str:
    """The url's host."""
    return urlsplit(arguments["url"]).hostname or ""


def statement_kind(arguments: Arguments) -> str:
    """The first word in lower case, `several` when there is more than one statement."""
    statements = [part for part in arguments["statement"].split(";") if part.strip()]
    return "several" if len(statements) > 1 else statements[0].split()[0].lower()


def payers(arguments: Arguments) -> dict[str, int]:
    """How many payment ids start with each kind."""
    ids = [payment["payment_id"] for payment in arguments["payment_methods"]]
    return {kind: sum(item.startswith(kind) for item in ids) for kind in ("certificate", "credit_card", "gift_card")}


def bags_ok(arguments: Arguments) -> bool:
    """Whether no more bags are paid for than there are."""
    return bool(arguments["nonfree_baggages"] <= arguments["total_baggages"])


def passengers_n(arguments: Arguments) -> int:
    """The number of passengers."""
    return len(arguments["passengers"])


def total_paid(arguments: Arguments) -> float:
    """The sum of the payment amounts."""
    return sum(payment["amount"] for payment in arguments["payment_methods"])


def amount_chf(arguments: Arguments) -> float:
    """The amount in Swiss francs."""
    return arguments["amount"] * {"CHF": 1, "EUR": 0.95, "JPY": 0.0055}[arguments["currency"]]


def total_qty(arguments: Arguments) -> int:
    """How many pieces are ordered."""
    return sum(line["qty"] for line in arguments["lines"])


def words(arguments: Arguments) -> int:
    """The number of words of the body."""
    return len(arguments.get("body", "").split())


def total(arguments: Arguments) -> float:
    """The amount, or as many as there are rows; absent without either."""
    return arguments["amount"] if "amount" in arguments else sum(row["v"] for row in arguments["rows"])


def many(arguments: Arguments) -> int:
    """How many tags and rows there are."""
    return len(arguments.get("tags", [])) + len(arguments.get("rows", []))


FIELDS = {"span_s": "/end", "points": "/step_s"}
FACTS: dict[str, Callable[[Arguments], Any]] = {
    fact.__name__: fact
    for fact in (
        span_s,
        points,
        sensitive_path,
        host,
        statement_kind,
        payers,
        bags_ok,
        passengers_n,
        total_paid,
        amount_chf,
        total_qty,
        words,
        total,
        many,
    )
}
