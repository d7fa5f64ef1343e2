"""
What does this https URL say? The one place where the gate itself calls out, and only for an issuer's keys.

In comes a URL from identity.yaml, never from a token; out come bytes, or OSError. Follows no redirect, speaks nothing
but https, and caps size and time.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from concurrent.futures import Future
from http.client import HTTPException
from threading import Thread
from typing import Final
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

__all__ = ["HttpsFetch"]

_TIMEOUT: Final = 5.0
_MOST: Final = 256 * 1024
_BLOCK: Final = 16 * 1024
_HEADERS: Final = {"Accept": "application/jwk-set+json, application/json", "User-Agent": "gatewright"}


class HttpsFetch:
    """
    Fetches over https. *timeout* bounds each wait and the whole, in seconds; *most* bounds the body, in bytes.

    *context* says which certificates are believed: the system's, unless given. Asks one thing at a time.
    """

    def __init__(
        self,
        *,
        timeout: float = _TIMEOUT,
        most: int = _MOST,
        context: ssl.SSLContext | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout = timeout
        self._most = most
        self._monotonic = monotonic
        self._asking: Thread | None = None
        self._opener = OpenerDirector()
        secure = HTTPSHandler(context=context or ssl.create_default_context())
        for handler in (ProxyHandler(), secure, HTTPErrorProcessor(), HTTPDefaultErrorHandler()):
            self._opener.add_handler(handler)

    def __call__(self, url: str) -> bytes:
        """
        Return the body at *url*.

        Raises:
            OSError: no https URL, no answer in time, an answer other than 2xx (a redirect included), or one too large.
        """
        if not url.startswith("https://"):
            raise OSError("not an https URL")
        if self._asking is not None and self._asking.is_alive():
            raise OSError("the last answer still trickles")
        answer: Future[bytes] = Future()
        # a thread of its own: a head that trickles passes every wait on the socket, and must not hold up the caller
        self._asking = Thread(target=self._answer, args=(url, answer), name="gatewright-keys", daemon=True)
        self._asking.start()
        return answer.result(self._timeout)

    def _answer(self, url: str, answer: Future[bytes]) -> None:
        try:
            answer.set_result(self._get(url))
        except BaseException as error:  # noqa: BLE001 - whoever waits must be told, whatever happened
            answer.set_exception(error)

    def _get(self, url: str) -> bytes:
        ends = self._monotonic() + self._timeout
        try:
            request = Request(url, headers=_HEADERS)  # noqa: S310 - the scheme was checked
            with self._opener.open(request, timeout=self._timeout) as response:
                return self._body(response.read1, ends)
        except (HTTPException, ValueError) as error:
            raise OSError("no usable answer") from error

    def _body(self, read: Callable[[int], bytes], ends: float) -> bytes:
        body = b""
        while block := read(_BLOCK):
            body += block
            if len(body) > self._most:
                raise OSError("the answer is too large")
            if self._monotonic() > ends:
                raise OSError("the answer takes too long")
        return body
