"""Approvers are told that a call waits: signed, bounded, following nothing, and never before the call."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import pytest

from desk import open_one
from gatewright import Misuse, Webhook
from gatewright.middleware.results import ApprovalRequired, Ok

SECRET = "w" * 32
CANARY = "canary-7f3a"
APPROVAL = "{ id: a, roles: [agent], arguments: { note: {} }, duties: { approval: { by: [supervisor], within: 15m } } }"


class Receiver:
    """A server on the loopback address that notes what it is sent, and answers as told."""

    def __init__(self) -> None:
        self.received: Queue[tuple[dict[str, str], bytes]] = Queue()
        self.answers: list[int] = []
        self.hold = threading.Event()
        self.hold.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.put(({name.lower(): value for name, value in self.headers.items()}, body))
                receiver.hold.wait(30)
                self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
                self.send_header("Location", f"{receiver.url}/elsewhere")
                self.end_headers()

            do_GET = do_POST  # noqa: N815 - the name is the library's

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def next(self) -> tuple[dict[str, str], dict[str, Any], bytes]:
        """What was sent next: headers, body, and the body's bytes."""
        headers, body = self.received.get(timeout=10)
        return headers, json.loads(body), body

    def close(self) -> None:
        """End."""
        self.hold.set()
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of its own for each test."""
    opened = Receiver()
    yield opened
    opened.close()


@pytest.fixture
def webhook(receiver: Receiver) -> Iterator[Webhook]:
    """A webhook that leads there, and does not wait long."""
    made = Webhook(receiver.url, SECRET, pause=0.0, timeout=5.0)
    yield made
    made.close()


def pay(amount: int, note: str = "") -> int:
    """Pay."""
    return amount


def test_a_call_that_waits_is_told_once_and_without_its_arguments(receiver: Receiver, webhook: Webhook) -> None:
    """Ids, roles, tool and tenant; the repeat of a call that waits is not told again."""
    desk, _ = open_one(pay, kind="write", entry=APPROVAL, options={"webhook": webhook}, secret=["/note"])
    parked = desk.call("some.thing", {"amount": 54321, "note": CANARY})
    assert isinstance(parked, ApprovalRequired)
    call = desk.guard.last_call_id
    assert desk.call("some.thing", {"amount": 54321, "note": CANARY}) == parked
    headers, body, raw = receiver.next()
    assert body["type"] == "approval.requested"
    assert body["data"] == {
        "approval_id": parked.approval_id,
        "call_id": call,
        "expires_at": parked.expires_at,
        "roles": ["supervisor"],
        "tenant": "acme",
        "tool": "some.thing",
    }
    everything = raw + json.dumps(headers).encode()
    for secret in (CANARY, "54321", desk.token(), SECRET, "amy"):
        assert secret.encode() not in everything
    desk.guard.close()
    assert receiver.received.empty()


def test_the_duty_to_notify_is_told_too(receiver: Receiver, webhook: Webhook) -> None:
    """With the names that the duty says."""
    entry = "{ id: a, roles: [agent], duties: { notify: [risk] } }"
    desk, _ = open_one(pay, entry=entry, options={"webhook": webhook})
    assert desk.call("some.thing", {"amount": 5}) == Ok(5)
    _, body, _ = receiver.next()
    told = {"call_id": desk.guard.last_call_id, "notify": ["risk"], "tenant": "acme", "tool": "some.thing"}
    assert (body["type"], body["data"]) == ("call.notify", told)
    desk.guard.close()


def test_the_signature_is_that_of_standard_webhooks(receiver: Receiver) -> None:
    """HMAC-SHA256 over id, timestamp and body; a secret may be written as the standard writes it."""
    key = b"k" * 32
    for secret in (key, "k" * 32, f"whsec_{base64.b64encode(key).decode()}"):
        webhook = Webhook(receiver.url, secret)
        webhook.tell("call.notify", {"tool": "some.thing"})
        headers, _, raw = receiver.next()
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + raw
        expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"
        webhook.close()


@pytest.mark.promise("P11")
def test_a_redirect_is_followed_nowhere_and_a_failure_is_tried_three_times(receiver: Receiver) -> None:
    """Each try has the same id; then it is given up, and the next message is sent."""
    webhook = Webhook(receiver.url, SECRET, pause=0.0)
    receiver.answers = [307, 500, 302, 204]
    webhook.tell("call.notify", {"number": 1})
    webhook.tell("call.notify", {"number": 2})
    sent = [receiver.next() for _ in range(4)]
    assert [body["data"]["number"] for _, body, _ in sent] == [1, 1, 1, 2]
    assert len({headers["webhook-id"] for headers, _, _ in sent}) == 2
    webhook.close()
    assert receiver.received.empty()


def test_a_receiver_that_hangs_holds_up_no_call_and_no_memory(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """What goes beyond the queue is dropped, with one warning; calls are answered all the same."""
    receiver.hold.clear()
    webhook = Webhook(receiver.url, SECRET, most=2, timeout=30.0)
    entry = "{ id: a, roles: [agent], duties: { notify: [risk] } }"
    desk, _ = open_one(pay, entry=entry, options={"webhook": webhook})
    assert desk.call("some.thing", {"amount": 0}) == Ok(0)
    receiver.next()
    for amount in range(10):
        assert desk.call("some.thing", {"amount": amount}) == Ok(amount)
    assert [record.name for record in caplog.records].count("gatewright.webhook") == 1
    receiver.hold.set()
    receiver.next()
    receiver.next()
    desk.guard.close()
    assert receiver.received.empty()


def test_nobody_there_is_a_line_in_the_log(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """The call waits all the same, and the log says no more than the kind of failure."""
    receiver.close()
    webhook = Webhook(receiver.url, SECRET, pause=0.0)
    desk, _ = open_one(pay, kind="write", entry=APPROVAL, options={"webhook": webhook})
    assert isinstance(desk.call("some.thing", {"amount": 5, "note": CANARY}), ApprovalRequired)
    webhook.close(10.0)
    assert "was not taken" in caplog.text
    assert CANARY not in caplog.text
    desk.guard.close()


@pytest.mark.parametrize(
    "url", ["http://example.org/hook", "ftp://127.0.0.1/", "file:///etc/passwd", "", "https://", "http://[::1", "//x"]
)
def test_an_address_that_is_not_https_is_a_mistake(url: str) -> None:
    """Told at once; plain http is for the loopback address alone."""
    with pytest.raises(Misuse, match="no https URL"):
        Webhook(url, SECRET)


@pytest.mark.parametrize("secret", ["", "w" * 31, "whsec_", "whsec_!", b"short"])
def test_a_short_secret_is_a_mistake(secret: Any) -> None:
    """32 bytes at least."""
    with pytest.raises(Misuse, match="32 bytes"):
        Webhook("https://example.org/hook", secret)
