"""Keys and tokens for local work: believed by the folder they were made for, and never made for production."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from desk import ISSUER, policies
from gatewright import Guard
from gatewright.cli import main as command
from gatewright.middleware.credential import TokenVariable

Patch: TypeAlias = pytest.MonkeyPatch
Captured: TypeAlias = "pytest.CaptureFixture[str]"
CLAIMS = {"type": "object", "properties": {"branch": {"type": "string"}, "limit": {"type": "integer"}}}
IDENTITY = {
    "issuers": [
        {
            "alias": "login",
            "issuer": "https://login.example",
            "audience": "desk",
            "keys": {"file": "keys.json"},
            "algorithms": ["RS256", "EdDSA"],
            "tenants": ["globex", "acme"],
            "tenant_claim": "org",
            "roles": "groups",
            "actor": {"claim": "act", "roles": "groups"},
            "claims": CLAIMS,
            "lifetime": "30m",
        }
    ]
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder with policies whose keys are in a file that is not there yet, and the working directory."""
    for path, text in policies(ISSUER).items():
        target = tmp_path / "policies" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    write_identity(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_identity(home: Path, **top: Any) -> None:
    """Write identity.yaml."""
    (home / "policies" / "identity.yaml").write_text(json.dumps({**IDENTITY, **top}))


def run(monkeypatch: Patch, capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    """The exit code of `gatewright token …`, and what it printed."""
    monkeypatch.setattr(sys, "argv", ["gatewright", "token", *arguments])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        command.main()
    printed = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), printed.out, printed.err


def test_a_token_of_local_work_calls_a_tool(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """From nothing: a key, a token in the environment, a guard that takes it from there."""
    code, out, _ = run(monkeypatch, capsys, "key", "--write")
    assert code == 0
    keys = json.loads((home / "policies" / "keys.json").read_text())
    assert keys == json.loads(out)
    assert "d" not in keys["keys"][0]
    file = home / ".gatewright" / "dev-key.pem"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    code, token, told = run(monkeypatch, capsys, "mint", "--sub", "amy", "--tenant", "acme", "--role", "agent")
    assert (code, told) == (0, "amy of acme, roles ['agent']\n")
    monkeypatch.setenv("GATEWRIGHT_TOKEN", token)
    with Guard("policies", token=TokenVariable(), keys="k" * 32, watch=False) as guard:
        caller = guard.identify()
    assert (caller.subject, caller.tenant, caller.roles) == ("amy", "acme", {"agent"})
    assert 1700 < caller.expires_at - caller.issued_at <= 1805


def test_a_token_may_name_agents_and_claims(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """The outermost agent with its roles, the others inside; values of claims are JSON, or text."""
    run(monkeypatch, capsys, "key", "--write")
    said = ["--act", "bot-1", "--act", "bot-2", "--act-role", "bot", "--claim", "branch=zh1", "--claim", "limit=5"]
    code, token, told = run(monkeypatch, capsys, "mint", "--role", "agent", "--role", "pwned", *said)
    assert (code, told) == (0, "dev of acme, roles ['agent'], bot-1 acting\n")
    with Guard("policies", keys="k" * 32, watch=False) as guard:
        caller = guard.identify(token.strip())
    assert caller.actor is not None
    assert (caller.actor.id, caller.actor.roles, caller.actor.prior) == ("bot-1", {"bot"}, ("bot-2",))
    assert dict(caller.claims) == {"branch": "zh1", "limit": 5}


def test_a_key_is_kept_and_added_once(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """Asked again, the same key; what else the key file holds stays."""
    other = ISSUER.jwks()["keys"][0]
    (home / "policies" / "keys.json").write_text(json.dumps({"keys": [other]}))
    first = run(monkeypatch, capsys, "key", "--write")
    assert run(monkeypatch, capsys, "key", "--write") == first
    keys = json.loads((home / "policies" / "keys.json").read_text())["keys"]
    assert [each["kid"] for each in keys] == [other["kid"], json.loads(first[1])["keys"][0]["kid"]]


@pytest.mark.parametrize("production", [True, "true", 1, None])
def test_nothing_is_made_for_production(home: Path, monkeypatch: Patch, capsys: Captured, production: object) -> None:
    """Neither keys nor tokens, however it is said and although a key is there."""
    run(monkeypatch, capsys, "key", "--write")
    before = (home / "policies" / "keys.json").read_bytes()
    write_identity(home, production=production)
    for asked in (["mint"], ["key"], ["key", "--write", "--key", "other.pem"]):
        code, out, told = run(monkeypatch, capsys, *asked)
        assert (code, out) == (2, "")
        assert "production: true" in told
    assert (home / "policies" / "keys.json").read_bytes() == before
    assert not (home / "other.pem").exists()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["--tenant", "initech"], "tenant"),
        (["--role", "subject:bob"], "roles"),
        (["--claim", "branch=7"], "claims"),
        (["--sub", "*"], "subject"),
        ([each for number in range(5) for each in ("--act", f"bot-{number}")], "actor"),
        (["--lifetime", "0"], "lifetime"),
    ],
)
def test_a_token_that_would_not_be_believed_is_not_printed(
    home: Path, monkeypatch: Patch, capsys: Captured, said: list[str], why: str
) -> None:
    """The folder's own verifier decides, and says which check failed."""
    run(monkeypatch, capsys, "key", "--write")
    code, out, told = run(monkeypatch, capsys, "mint", *said)
    assert (code, out) == (1, "")
    assert f"would not believe this token: {why} (" in told


def test_a_key_that_the_folder_does_not_hold_signs_nothing(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """Another key's token is not printed."""
    run(monkeypatch, capsys, "key", "--write")
    run(monkeypatch, capsys, "key", "--key", "other.pem")
    code, out, told = run(monkeypatch, capsys, "mint", "--key", "other.pem")
    assert (code, out) == (1, "")
    assert "gatewright token key --write" in told


def test_what_cannot_be_made_is_said_in_a_line(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """No key, an unknown issuer, a file that is none, no folder, keys behind a URL."""
    (home / "noise.pem").write_text("noise")
    for asked in (["mint"], ["mint", "--issuer", "x"], ["key", "--key", "noise.pem"], ["key", "nowhere"]):
        code, out, told = run(monkeypatch, capsys, *asked)
        assert (code, out) == (2, ""), asked
        assert "Traceback" not in told
    behind = {**IDENTITY["issuers"][0], "keys": {"url": "https://login.example/keys"}}
    write_identity(home, issuers=[behind])
    assert run(monkeypatch, capsys, "key", "--write")[0] == 2
