"""
How do approvers hear that a call waits? A signed request to one address, sent beside the call and never before it.

In come ids and names, no argument and no token; out go requests as Standard Webhooks has them. The queue is bounded, a
redirect is a failure, and whatever goes wrong is a line in the log: what waits can be listed all the same.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Final, Literal, NoReturn, TypeAlias
from urllib.request import Request

from gatewright.middleware.identifiers import new_id
from gatewright.middleware.opener import open_way
from gatewright.policy.errors import Misuse

__all__ = ["Topic", "Webhook"]

Topic: TypeAlias = Literal["approval.requested", "call.notify"]

_MOST: Final = 1_000
_TIMEOUT: Final = 5.0
_TRIES: Final = 3
_PAUSE: Final = 1.0
_SHORTEST: Final = 32
_log = logging.getLogger("gatewright.webhook")


class Webhook:
    """
    Tells one *url* what waits, signed with *secret* (32 bytes at least; a `whsec_…` is read as such).

    https only, but for a loopback address. *most* messages wait at a time, what goes beyond is dropped with a warning;
    each is tried three times, *pause* seconds apart and more. *context* says which certificates are believed.

    Raises:
        Misuse: the address or the secret cannot be used.
    """

    def __init__(
        self,
        url: str,
        secret: str | bytes,
        *,
        most: int = _MOST,
        timeout: float = _TIMEOUT,
        pause: float = _PAUSE,
        context: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._secret = _secret(secret)
        self._url = url
        self._opener = open_way(url, "a webhook", context)
        self._most = most
        self._timeout = timeout
        self._pause = pause
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._dropping = False
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return "Webhook()"

    def __reduce__(self) -> NoReturn:
        raise Misuse("a webhook is not pickled", "it holds a secret; make it in each process")

    def tell(self, topic: Topic, data: Mapping[str, object]) -> None:
        """Hand over what happened; never waits and never raises. A forked child has a queue of its own."""
        if self._process != os.getpid():
            self._begin()
        body = {"data": dict(data), "timestamp": int(self._clock()), "type": topic}
        with self._changed:
            if self._closed or len(self._waiting) >= self._most:
                self._drop(topic)
                return
            self._dropping = False
            self._waiting.append((f"msg_{new_id()}", json.dumps(body, sort_keys=True, separators=(",", ":")).encode()))
            if self._thread is None:
                self._thread = threading.Thread(target=self._send_on, name="gatewright-webhook", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self, seconds: float = 2.0) -> None:
        """Take nothing more, and wait up to *seconds* for what is still to be sent; the rest is dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and self._process == os.getpid():
            thread.join(seconds)
            with self._changed:
                self._waiting.clear()

    def _drop(self, topic: Topic) -> None:
        if not self._dropping:
            _log.warning("a webhook message is dropped (%s): too many wait, or it is closed", topic)
        self._dropping = True

    def _send_on(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                id, body = self._waiting.popleft()
            self._send(id, body)

    def _send(self, id: str, body: bytes) -> None:
        for attempt in range(_TRIES):
            try:
                self._post(id, body)
            except (OSError, HTTPException, ValueError) as error:
                _log.warning("a webhook message was not taken (%s, try %d)", type(error).__name__, attempt + 1)
            else:
                return
            with self._changed:
                if self._closed or attempt + 1 == _TRIES:
                    return
                self._changed.wait_for(lambda: self._closed, self._pause * 2**attempt)

    def _post(self, id: str, body: bytes) -> None:
        at = str(int(self._clock()))
        signed = hmac.digest(self._secret, b".".join((id.encode(), at.encode(), body)), hashlib.sha256)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "gatewright",
            "webhook-id": id,
            "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
            "webhook-timestamp": at,
        }
        request = Request(self._url, data=body, headers=headers, method="POST")  # noqa: S310 - its scheme was checked
        with self._opener.open(request, timeout=self._timeout):
            pass


def _secret(secret: str | bytes) -> bytes:
    try:
        if isinstance(secret, str) and secret.startswith("whsec_"):
            secret = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        secret = b""
    raw = secret.encode() if isinstance(secret, str) else secret
    if len(raw) < _SHORTEST:
        raise Misuse(f"the secret of a webhook has at least {_SHORTEST} bytes", "draw it: openssl rand -hex 32")
    return raw
