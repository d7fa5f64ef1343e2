"""
The bank of the policy format's own page: refunds with four eyes, by branch, in office hours, by people and a copilot.

`open_bank` puts Gatewright in front of four tools over records in memory. The policies beside this file say who may do
what; their tests/ say what must come of it: `gatewright test examples/bank/policies --app bank.app:open_bank`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from gatewright import Fact, Guard, Resource

POLICIES = Path(__file__).with_name("policies")
TO_FRANCS = {"CHF": 1.0, "EUR": 0.94, "JPY": 0.0058}
Id = Annotated[str, Field(min_length=1, max_length=40, pattern="^[a-z0-9-]+$")]


class Customer(BaseModel):
    """A customer as the desk sees one."""

    name: str
    phone: str
    born: str
    iban: str | None = None


CUSTOMERS: dict[tuple[str, str], dict[str, Any]] = {
    ("zurich", "c1"): {"name": "Ann", "phone": "0791234567", "born": "1990-01-01", "iban": "CH93", "branch": "zh1"},
    ("zurich", "c2"): {"name": "Bob", "phone": "0797654321", "born": "1985-05-05", "iban": "CH94", "branch": "zh2"},
}
TRANSACTIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("zurich", "t1"): {"branch": "zh1", "employee": "", "refundable": 30_000},
    ("zurich", "t2"): {"branch": "zh2", "employee": "", "refundable": 30_000},
}


def amount_chf(arguments: Mapping[str, Any]) -> float:
    """The amount in francs: limits are in francs, whatever the refund is paid in."""
    return round(float(arguments["amount"]) * TO_FRANCS[arguments["currency"]], 2)


def load_customer(id: str, tenant: str) -> dict[str, Any] | None:
    """Look only inside the tenant."""
    return CUSTOMERS.get((tenant, id))


def load_transaction(id: str, tenant: str) -> dict[str, Any] | None:
    """Look only inside the tenant."""
    return TRANSACTIONS.get((tenant, id))


CUSTOMER = Resource(
    "customer",
    at="/customer_id",
    load=load_customer,
    scope="tenant",
    attributes={"type": "object", "properties": {"branch": {"type": "string"}}},
)
TRANSACTION = Resource(
    "transaction",
    at="/transaction_id",
    load=load_transaction,
    scope="tenant",
    attributes={
        "type": "object",
        "properties": {
            "branch": {"type": "string"},
            "employee": {"type": "string"},
            "refundable": {"type": "number"},
        },
    },
)


def open_bank(policies: Path | Mapping[str, str] = POLICIES, **options: Any) -> Guard:
    """Return a guard with the bank's tools on it."""
    guard = Guard(policies, **options)

    @guard.tool(
        "customer.lookup",
        kind="read",
        resources={"customer": CUSTOMER},
        use_when="a customer of the bank is at the desk and their record is needed",
        not_for="finding out who is a customer",
    )
    def lookup(customer_id: Id) -> Customer:
        """Return a customer's record."""
        record = CUSTOMERS["zurich", customer_id]
        return Customer(name=record["name"], phone=record["phone"], born=record["born"], iban=record["iban"])

    @guard.tool(
        "note.add",
        kind="write",
        action="note",
        resources={"customer": CUSTOMER},
        use_when="something that a customer said must be remembered",
        not_for="anything about somebody else",
    )
    def add_note(customer_id: Id, text: Annotated[str, Field(min_length=1, max_length=500)]) -> dict[str, bool]:
        """Write a note into a customer's record."""
        return {"added": True}

    @guard.tool(
        "refund.create",
        kind="write",
        action="refund",
        resources={"transaction": TRANSACTION},
        facts={"amount_chf": Fact(amount_chf, field="/amount")},
        echo=["currency"],
        use_when="a customer has a right to their money back and the transaction is known",
        not_for="discounts, or money that was never paid",
    )
    def refund(
        customer_id: Id,
        transaction_id: Id,
        amount: Annotated[float, Field(multiple_of=0.01)],
        currency: Literal["CHF", "EUR", "JPY", "USD"],
        note: str = "",
        branch: str = "",
    ) -> dict[str, float]:
        """Pay a transaction back, in whole or in part."""
        return {"refunded": amount}

    @guard.tool(
        "card.freeze",
        kind="write",
        use_when="a card was lost or stolen",
        not_for="closing an account",
    )
    def freeze(card: Id) -> dict[str, bool]:
        """Freeze a card until it is found."""
        return {"frozen": True}

    return guard
