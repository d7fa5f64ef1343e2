"""The gate calls out only over https, follows nobody elsewhere, and stops at its caps."""

from __future__ import annotations

import datetime as dt
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gatewright.middleware.fetch import HttpsFetch


class _Answers(BaseHTTPRequestHandler):
    """One answer per path."""

    stop = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/trickle":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not self.stop.wait(0.02):
                self.wfile.write(b"x")
            self.close_connection = True
            return
        status = {"/moved": 302, "/gone": 404, "/broken": 500}.get(self.path, 200)
        self.send_response(status)
        if self.path == "/moved":
            self.send_header("Location", "/keys")
        self.end_headers()
        self.wfile.write(b"x" * 5000 if self.path == "/large" else b'{"keys": []}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that signed itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(private + made.public_bytes(pem))
    return file


@pytest.fixture(scope="module")
def address(certificate: Path) -> Iterator[str]:
    """The address of an https server on the loopback interface."""
    server = HTTPServer(("127.0.0.1", 0), _Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def trusting(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A context that believes the server's certificate; no proxy stands between."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return ssl.create_default_context(cafile=str(certificate))


def test_a_body_is_returned(address: str, trusting: ssl.SSLContext) -> None:
    """The one thing that is not an error."""
    assert HttpsFetch(context=trusting)(f"{address}/keys") == b'{"keys": []}'


@pytest.mark.parametrize("path", ["/moved", "/gone", "/broken"])
def test_every_answer_but_success_is_an_error(address: str, trusting: ssl.SSLContext, path: str) -> None:
    """A redirect too, although its target would answer."""
    with pytest.raises(OSError, match="HTTP Error") as caught:
        HttpsFetch(context=trusting)(f"{address}{path}")
    caught.value.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/keys",
        "file:///etc/passwd",
        "ftp://127.0.0.1/keys",
        "HTTPS://127.0.0.1",
        "https:/x",
        "data:,x",
        "",
    ],
)
def test_nothing_but_https_is_asked(url: str) -> None:
    """The scheme is compared as it is written."""
    with pytest.raises(OSError, match="not an https URL"):
        HttpsFetch()(url)


@pytest.mark.parametrize("url", ["https://", "https://[", "https://127.0.0.1:x/", "https://127.0.0.1/ a\n"])
def test_a_url_that_is_none_is_an_error_like_any_other(url: str) -> None:
    """The caller of a fetch has one kind of failure to deal with."""
    with pytest.raises(OSError, match=r".*"):
        HttpsFetch()(url)


def test_a_stranger_s_certificate_is_not_believed(address: str, trusting: ssl.SSLContext) -> None:
    """Without the server's certificate in its context, the fetch fails."""
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        HttpsFetch(context=ssl.create_default_context())(f"{address}/keys")


def test_a_large_body_is_cut_off(address: str, trusting: ssl.SSLContext) -> None:
    """At its cap, not at its end."""
    assert len(HttpsFetch(context=trusting, most=5000)(f"{address}/large")) == 5000
    with pytest.raises(OSError, match="too large"):
        HttpsFetch(context=trusting, most=4999)(f"{address}/large")


def test_a_body_that_trickles_is_given_up(address: str, trusting: ssl.SSLContext) -> None:
    """The whole has a time, not only each wait."""
    times = iter([0.0, 5.5])
    with pytest.raises(OSError, match="too long"):
        HttpsFetch(context=trusting, monotonic=lambda: next(times))(f"{address}/keys")


def test_a_head_that_trickles_is_given_up_too(address: str, trusting: ssl.SSLContext) -> None:
    """Each wait on the socket is short, the whole is not; and nobody else is made to wait for the same again."""
    fetch = HttpsFetch(context=trusting, timeout=0.3)
    try:
        with pytest.raises(TimeoutError):
            fetch(f"{address}/trickle")
        with pytest.raises(OSError, match="still trickles"):
            fetch(f"{address}/keys")
    finally:
        _Answers.stop.set()
        asking = fetch._asking
        assert asking is not None
        asking.join(10)
    assert fetch(f"{address}/keys") == b'{"keys": []}'
