"""
How is one configured address reached? Over https, or on this machine; a redirect is a failure.

In comes a URL that the operator wrote; out comes what opens it. Opens nothing itself.
"""

from __future__ import annotations

import ssl
from typing import Final
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
)

from gatewright.policy.errors import Misuse

__all__ = ["open_way"]

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


def open_way(url: str, whose: str, context: ssl.SSLContext | None = None) -> OpenerDirector:
    """
    Return what opens *url*, the address of *whose*; nothing in it follows a redirect.

    Raises:
        Misuse: it is neither https nor on a loopback address.
    """
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme, parts.hostname
    except ValueError:
        scheme, host = "", None
    is_local = scheme == "http" and host in _LOOPBACK
    if not host or not (scheme == "https" or is_local):
        raise Misuse(f"the address of {whose} is no https URL", "https://…, or http:// on a loopback address")
    director = OpenerDirector()
    handlers = [HTTPHandler()] if is_local else [ProxyHandler(), HTTPSHandler(context=context)]
    for handler in (*handlers, HTTPErrorProcessor(), HTTPDefaultErrorHandler()):
        director.add_handler(handler)
    return director
