"""Checkpoints are signed beside the calls and brought until they are taken."""

from __future__ import annotations

import http.server
import io
import json
import logging
import os
import threading
from pathlib import Path

import pytest

from gatewright import Guard
from gatewright.middleware.anchor import AnchorUnavailable, FileAnchor, HttpAnchor, StreamAnchor, open_anchor
from gatewright.middleware.checkpoint import Checkpoints, statement
from gatewright.middleware.linking import Chain, Head
from gatewright.middleware.seal import KeyRing, PublicKeys
from gatewright.policy.errors import Misuse
from gatewright.testing import FakeIssuer

KEYS = KeyRing.from_secret("a secret of thirty-two bytes, or more")
POLICIES = {
    "names.yaml": "roles: { clerk: {} }\nactors: []\ntenants: { acme: {} }\ntypes: {}\ndelegate: {}\n",
    "policy.csv": "p, clerk, *, lines.drop, call, allow\n",
    "tools/lines.yaml": "tool: lines.drop\nallow: [ { id: all, roles: [clerk], arguments: {} } ]\n",
}
FIRST, SECOND = f"calls-{'0' * 32}", f"effects-{'1' * 32}"


class ListAnchor:
    """Keeps checkpoints in a list; fails while *broken*."""

    def __init__(self) -> None:
        self.taken: list[dict[str, object]] = []
        self.broken = False
        self.came = threading.Event()

    def take(self, checkpoint: bytes, /) -> None:
        """Keep, or fail."""
        if self.broken:
            raise AnchorUnavailable
        self.taken.append(json.loads(checkpoint))
        self.came.set()


def test_a_checkpoint_is_signed_with_the_public_key_of_the_ring() -> None:
    """Whoever has the public key alone can check it."""
    anchor = ListAnchor()
    checkpoints = Checkpoints(KEYS, anchor, lambda: 0.0, seconds=3600)
    checkpoints.heed(Head(FIRST, 3, b"\1" * 32))
    checkpoints.close(closing=False)
    (told,) = anchor.taken
    signed = statement(FIRST, 3, "01" * 32, "1970-01-01T00:00:00.000000Z", closed=False)
    assert PublicKeys(KEYS.public_keys()).is_signed(signed, str(told["signature"]))
    assert not PublicKeys(KEYS.public_keys()).is_signed(signed + b"x", str(told["signature"]))
    assert (told["chain"], told["count"], told["closed"]) == (FIRST, 3, False)


def test_enough_lines_make_a_checkpoint_due_at_once() -> None:
    """Nobody waits for the clock where much is written."""
    anchor = ListAnchor()
    checkpoints = Checkpoints(KEYS, anchor, lambda: 0.0, lines=5, seconds=3600)
    checkpoints.heed(Head(FIRST, 5, bytes(32)))
    assert anchor.came.wait(10)
    checkpoints.close(closing=False)
    assert [told["count"] for told in anchor.taken] == [5]


def test_time_makes_a_checkpoint_due_where_little_is_written() -> None:
    """One line is enough once the seconds are over."""
    anchor = ListAnchor()
    checkpoints = Checkpoints(KEYS, anchor, lambda: 0.0, seconds=0.01)
    checkpoints.heed(Head(FIRST, 1, bytes(32)))
    assert anchor.came.wait(10)
    checkpoints.close(closing=False)


def test_what_the_anchor_did_not_take_is_brought_again(caplog: pytest.LogCaptureFixture) -> None:
    """A failing anchor is told once, and what it missed is in the next checkpoint."""
    anchor = ListAnchor()
    checkpoints = Checkpoints(KEYS, anchor, lambda: 0.0, seconds=3600)
    anchor.broken = True
    with caplog.at_level(logging.ERROR, "gatewright.anchor"):
        checkpoints.heed(Head(FIRST, 1, bytes(32)))
        assert not checkpoints.bring()
        assert not checkpoints.bring()
    assert (checkpoints.failing, len(caplog.records)) == (True, 1)
    anchor.broken = False
    checkpoints.heed(Head(FIRST, 2, bytes(32)))
    assert checkpoints.bring()
    checkpoints.close(closing=False)
    assert [told["count"] for told in anchor.taken] == [2]


def test_only_the_chain_of_calls_is_signed_as_closed() -> None:
    """A write that was given up may still end after the guard is closed."""
    anchor = ListAnchor()
    checkpoints = Checkpoints(KEYS, anchor, lambda: 0.0, seconds=3600)
    checkpoints.heed(Head(FIRST, 1, bytes(32)))
    checkpoints.heed(Head(SECOND, 1, bytes(32)))
    checkpoints.close(closing=True)
    assert {(told["chain"], told["closed"]) for told in anchor.taken} == {(FIRST, True), (SECOND, False)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_signs_no_chain_of_its_parent() -> None:
    """The parent goes on with it."""
    anchor = ListAnchor()
    checkpoints = Checkpoints(KEYS, anchor, lambda: 0.0, seconds=3600)
    checkpoints._heads[FIRST] = Head(FIRST, 1, bytes(32))
    child = os.fork()
    if child == 0:
        os._exit(len(checkpoints._heads))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert checkpoints._heads


def test_a_chain_tells_only_what_is_written() -> None:
    """An empty chain has nothing to tell."""
    heard: list[Head] = []
    chain = Chain("calls", heard.append)
    chain.settle()
    chain.advance(chain.link(b"{}"))
    assert heard == []
    chain.settle()
    assert [(head.chain, head.count, head.hash) for head in heard] == [(chain.name, 1, chain.prev)]


def test_a_guard_brings_checkpoints_of_both_chains_and_the_signed_end_of_its_calls(tmp_path: Path) -> None:
    """The anchor holds how far calls and effects had come when the guard was closed."""
    anchor, issuer = tmp_path / "anchor", FakeIssuer()
    policies = {**POLICIES, "identity.yaml": json.dumps({"issuers": [issuer.profile(["acme"])]})}
    places = {"journal": tmp_path / "events.db", "ledger": tmp_path / "ledger.db"}
    with Guard(policies, **places, keys=KEYS, anchor=anchor) as guard:

        @guard.tool("lines.drop", kind="write", use_when="you must", not_for="anything else")
        def drop() -> None:
            """Drop the lines."""

        token = issuer.token(sub="amy", tenant="acme", roles=["clerk"])
        assert guard.call("lines.drop", "{}", token=token).status == "ok"
        assert guard.call("no.such.tool", "{}", token=token).status == "forbidden"
    told = {str(each["chain"]).partition("-")[0]: each for each in map(json.loads, anchor.read_bytes().splitlines())}
    assert {chain: (each["count"], each["closed"]) for chain, each in told.items()} == {
        "calls": (2, True),
        "effects": (2, False),
    }


def test_an_anchor_is_a_file_a_stream_or_an_https_address(tmp_path: Path) -> None:
    """What is neither is refused at once."""
    assert isinstance(open_anchor(tmp_path / "a"), FileAnchor)
    assert isinstance(open_anchor("stdout"), StreamAnchor)
    assert isinstance(open_anchor("https://anchor.example/x"), HttpAnchor)
    for place in ("http://anchor.example/x", "ftp://anchor.example/x"):
        with pytest.raises(Misuse):
            open_anchor(place)


def test_an_address_gets_each_checkpoint_as_the_body_of_a_post() -> None:
    """What answers 2xx has taken it; what answers anything else has not."""
    came: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204 if len(came) == 1 else 500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        anchor = HttpAnchor(f"http://127.0.0.1:{server.server_address[1]}/")
        anchor.take(b'{"a":1}')
        with pytest.raises(AnchorUnavailable):
            anchor.take(b'{"a":2}')
        server.shutdown()
        thread.join()
    assert came == [b'{"a":1}', b'{"a":2}']


def test_anchors_that_take_nothing_say_so(tmp_path: Path) -> None:
    """A folder that is not there, a closed stream, an address where nobody answers."""
    stream = io.BytesIO()
    StreamAnchor(stream).take(b"{}")
    assert stream.getvalue() == b"{}\n"
    stream.close()
    for anchor in (FileAnchor(tmp_path / "no" / "a"), StreamAnchor(stream), HttpAnchor("http://127.0.0.1:1/")):
        with pytest.raises(AnchorUnavailable):
            anchor.take(b"{}")
