"""Gatewright: authorization middleware between a language model and the functions it may call."""

from gatewright.middleware.current import CurrentCall, current_call, still_allowed
from gatewright.middleware.failures import Conflict, Failed, NoEffect, NotFound, Stopped
from gatewright.middleware.guard import Guard
from gatewright.middleware.operations import current_operation
from gatewright.middleware.options import ToolCall
from gatewright.middleware.page import Page, Stamped
from gatewright.middleware.registration import Fact, Resource
from gatewright.middleware.scope import RowScope
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.unresolved import CannotTell, DidNotHappen, Happened, UnresolvedOperation
from gatewright.middleware.webhook import Webhook
from gatewright.policy.caller import Caller
from gatewright.policy.errors import GatewrightError, Invalid, Misuse, PolicyInvalid

__all__ = [
    "Caller",
    "CannotTell",
    "Conflict",
    "CurrentCall",
    "DidNotHappen",
    "Fact",
    "Failed",
    "GatewrightError",
    "Guard",
    "Happened",
    "Invalid",
    "KeyRing",
    "Misuse",
    "NoEffect",
    "NotFound",
    "Page",
    "PolicyInvalid",
    "Resource",
    "RowScope",
    "Stamped",
    "Stopped",
    "ToolCall",
    "UnresolvedOperation",
    "Webhook",
    "current_call",
    "current_operation",
    "still_allowed",
]
