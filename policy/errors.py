"""
What can go wrong, as values: one base error, findings about policy files, and the developer's own refusals.

Evidence is held in frozen attributes and the text is computed from them. Nothing here is shown to a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "GatewrightError", "Invalid", "Misuse", "Place", "PolicyInvalid"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a policies folder; line and column count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """
    One thing wrong with the policy files.

    *code* is stable and never changes its meaning; *message* says what is wrong and *hint* how to mend it.
    """

    place: Place
    code: str
    message: str
    hint: str = ""
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.place}: {self.code}: {self.message}{hint}"


class GatewrightError(Exception):
    """The base of every error that Gatewright raises; *code* is stable."""

    code: str = "internal"


class PolicyInvalid(GatewrightError):
    """
    The policy files do not load.

    Attributes:
        findings: every finding at once, sorted by file, line and column.
    """

    code = "policy_invalid"

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(findings))
        super().__init__(self.findings)

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)


class Misuse(GatewrightError):
    """
    A developer used the library in a way that can never work.

    Attributes:
        what: the mistake. hint: how to mend it.
    """

    code = "misuse"

    def __init__(self, what: str, hint: str = "") -> None:
        self.what = what
        self.hint = hint
        super().__init__(what, hint)

    def __str__(self) -> str:
        return f"{self.what} ({self.hint})" if self.hint else self.what


class Invalid(GatewrightError):
    """
    A business rule refuses these arguments: raised by tool developers inside a rule.

    *reason* is one of the reasons declared with the tool, *field* a JSON pointer into the arguments, *expected*
    a sentence fragment for the model. None of them may quote the value.
    """

    code = "invalid_arguments"

    def __init__(self, reason: str, *, field: str = "", expected: str | None = None) -> None:
        self.reason = reason
        self.field = field
        self.expected = expected
        super().__init__(reason)

    def __str__(self) -> str:
        return f"{self.reason} at {self.field or '/'}"
