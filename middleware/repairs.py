"""
What is answered when arguments are not accepted? The complaints, and how often they may still be corrected.

In come complaints and how many times in a row there were any; out comes one result. Counts nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from gatewright.middleware.outcome import Outcome, Status
from gatewright.middleware.sentences import STOP_REPAIRING, speaks
from gatewright.policy.complaints import Complaint
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.phrases import Locale
from gatewright.policy.quoting import Quote, quote_nothing

__all__ = ["MAX_REPAIRS", "InvalidArguments", "invalid_arguments"]

MAX_REPAIRS: Final = 2
"""How often the arguments of one tool may be corrected in one interaction, unless the application says otherwise."""


@dataclass(frozen=True, slots=True)
class InvalidArguments(Outcome):
    """
    The arguments are not accepted; a corrected call is a new call.

    *errors* are complaints as JSON, in the language they were made in; *field* and *reason* are the first one's.
    *user_message* is set when no repair is left.
    """

    status: ClassVar[Status] = "invalid_arguments"

    errors: tuple[JsonObject, ...] = field(repr=False)
    attempt: int = 1
    attempts_left: int = MAX_REPAIRS
    user_message: str | None = None
    schema_changed: bool = False

    @property
    def field(self) -> str:
        """Where the first error is, as a JSON pointer."""
        return str(self.errors[0]["field"]) if self.errors else ""

    @property
    def reason(self) -> str:
        """The reason of the first error."""
        return str(self.errors[0]["reason"]) if self.errors else "not_accepted"

    def to_json(self) -> dict[str, Json]:
        whole: dict[str, Json] = {
            "status": "invalid_arguments",
            "field": self.field,
            "reason": self.reason,
            "errors": [dict(error) for error in self.errors],
            "attempt": self.attempt,
            "attempts_left": self.attempts_left,
            "retryable": False,
            "next": "fix_arguments" if self.attempts_left else "stop",
        }
        if self.user_message is not None:
            whole["user_message"] = self.user_message
        if self.schema_changed:
            whole["schema_changed"] = True
        return whole


def invalid_arguments(
    complaints: Iterable[Complaint],
    *,
    attempt: int = 1,
    repairs: int = MAX_REPAIRS,
    locale: str = "en",
    schema_changed: bool = False,
    quote: Quote = quote_nothing,
) -> InvalidArguments:
    """
    Return the result for *complaints*, of which this is the *attempt*-th in a row.

    Attempts count from 1; 0 is one that is not counted. Messages quote what *quote* allows.
    """
    language: Locale = speaks(("en", "zh"), locale)  # type: ignore[assignment]
    left = max(0, min(repairs, repairs + 1 - attempt))
    return InvalidArguments(
        tuple(complaint.to_json(language, quote) for complaint in complaints),
        attempt,
        left,
        None if left else speaks(STOP_REPAIRING, locale),
        schema_changed,
    )
