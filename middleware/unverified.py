"""
Why is nobody calling? The one error that reading and verifying a token ends in.

Holds a reason for the caller and a detail for the event log, both from closed sets. Never any part of the token.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from gatewright.policy.errors import GatewrightError

__all__ = ["Detail", "Reason", "Unverified"]

Reason: TypeAlias = Literal[
    "token_missing",
    "token_malformed",
    "token_expired",
    "token_not_yet_valid",
    "token_invalid",
    "token_revoked",
]
"""What the caller is told; coarse, so that nobody learns which check to work around next."""

Detail: TypeAlias = Literal[
    "",
    "absent",
    "size",
    "form",
    "header",
    "payload",
    "algorithm",
    "type",
    "key",
    "signature",
    "issuer",
    "audience",
    "subject",
    "time",
    "lifetime",
    "token_id",
    "session",
    "client",
    "tenant",
    "roles",
    "actor",
    "claims",
    "error",
]
"""What the event log is told beside the reason: the check that failed."""


class Unverified(GatewrightError):
    """
    A token that identifies nobody.

    Attributes:
        reason: what the caller may know. detail: which check failed, for the event log only.
    """

    code = "unauthenticated"

    def __init__(self, reason: Reason, detail: Detail = "") -> None:
        self.reason: Reason = reason
        self.detail: Detail = detail
        super().__init__(reason, detail)

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason
