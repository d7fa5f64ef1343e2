"""A folder is read once, as of one moment, and what cannot be read is a finding."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.policy import source
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.source import Source, read_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files."""
    root = tmp_path / "policies"
    (root / "tools").mkdir(parents=True)
    (root / "policy.csv").write_text("p, viewer, *, logs.query, call, allow\n")
    (root / "tools" / "logs.yaml").write_text("tool: logs.query\n")
    return root


def faults(folder: Path) -> list[tuple[str, str]]:
    """Code and file of every finding."""
    with pytest.raises(PolicyInvalid) as caught:
        read_folder(folder)
    return [(each.code, each.place.file) for each in caught.value.findings]


def test_every_file_is_there_by_its_path(folder: Path) -> None:
    """Paths are relative and use slashes; dot files and editors' backups are left out."""
    for name in (".hidden", "policy.csv~", "#policy.csv#", "names.yaml.swp", "old.bak"):
        (folder / name).write_text("x")
    assert list(read_folder(folder).files) == ["policy.csv", "tools/logs.yaml"]


def test_a_missing_folder_is_a_finding(tmp_path: Path) -> None:
    """So is a file where the folder should be."""
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "file"):
        assert faults(tmp_path / name) == [("folder_missing", str(tmp_path / name))]


def test_a_folder_that_cannot_be_listed_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not an empty folder."""
    listed = os.scandir

    def refuse(path: Path) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "tools":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert faults(folder) == [("unreadable", "tools")]


def test_a_link_out_of_the_folder_is_a_finding(folder: Path, tmp_path: Path) -> None:
    """Nothing outside of the folder decides."""
    (tmp_path / "names.yaml").write_text("roles: {}\n")
    (folder / "names.yaml").symlink_to(tmp_path / "names.yaml")
    assert faults(folder) == [("outside_folder", "names.yaml")]


def test_a_link_to_a_folder_is_a_finding(folder: Path) -> None:
    """Neither followed, which could loop, nor left out in silence."""
    (folder / "tools" / "again").symlink_to(folder)
    assert faults(folder) == [("linked_folder", "tools/again")]


def test_a_dangling_link_is_a_finding(folder: Path) -> None:
    """A file that is missing behind its name is not an absent file."""
    (folder / "names.yaml").symlink_to(folder / "gone.yaml")
    assert faults(folder) == [("unreadable", "names.yaml")]


def test_files_behind_a_swapped_folder_are_read(folder: Path) -> None:
    """As clusters mount configuration: names link into a dot folder that is swapped as a whole."""
    (folder / "..2026").mkdir()
    (folder / "..2026" / "names.yaml").write_text("roles: {}\n")
    (folder / "..data").symlink_to("..2026")
    (folder / "names.yaml").symlink_to("..data/names.yaml")
    assert read_folder(folder).files["names.yaml"] == b"roles: {}\n"


def test_a_pipe_or_a_socket_is_a_finding_and_never_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only regular files are read."""
    os.mkfifo(folder / "names.yaml")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.yaml")
    assert faults(folder) == [("not_a_file", "names.yaml"), ("unreadable", "socket.yaml")]


def test_a_file_over_its_cap_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may be many, so a policy.csv has a cap of its own."""
    monkeypatch.setattr(source, "MAX_FILE", 10)
    assert faults(folder) == [("file_too_large", "tools/logs.yaml")]


def test_too_many_files_are_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is not read any further."""
    monkeypatch.setattr(source, "MAX_FILES", 1)
    assert faults(folder) == [("too_many_files", "tools/logs.yaml")]


def test_folders_without_end_are_a_finding(folder: Path) -> None:
    """Sixteen in one another are enough."""
    (folder / "/".join(["tools"] + ["a"] * 20)).mkdir(parents=True)
    assert faults(folder) == [("too_deep", "/".join(["tools"] + ["a"] * 16))]


def test_a_name_that_cannot_be_printed_is_a_finding(folder: Path) -> None:
    """It is told in escaped form."""
    (folder / "na\nmes.yaml").write_text("")
    assert faults(folder) == [("bad_file_name", "na\\nmes.yaml")]


@pytest.mark.promise("P10")
def test_a_folder_that_changes_while_it_is_read_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files handed on are those of one moment, never half old and half new."""
    opened = os.open
    writes = iter(["p, viewer, *, logs.query, call, deny\n"])

    def open_and_change(path: Path, flags: int) -> int:
        if Path(path).name == "logs.yaml":
            for text in writes:
                (folder / "policy.csv").write_text(text)
        return opened(path, flags)

    monkeypatch.setattr(os, "open", open_and_change)
    assert b"deny" in read_folder(folder).files["policy.csv"]


def test_a_folder_that_never_rests_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a few tries nothing is handed on."""
    opened = os.open
    count = iter(range(1000))

    def open_and_change(path: Path, flags: int) -> int:
        (folder / f"new{next(count)}.md").write_text("")
        return opened(path, flags)

    monkeypatch.setattr(os, "open", open_and_change)
    assert faults(folder) == [("changing", str(folder))]


def test_the_digest_names_what_decides() -> None:
    """Content and path count, tests and EFFECTIVE.txt do not."""
    texts = {"policy.csv": "p\n", "tests/a.yaml": "1"}
    digest = Source.from_texts(texts).digest
    assert Source.from_texts({**texts, "tests/a.yaml": "2", "EFFECTIVE.txt": "x"}).digest == digest
    assert Source.from_texts({**texts, "policy.csv": "p\n\n"}).digest != digest
    assert Source.from_texts({"polic": "y.csvp\n"}).digest != Source.from_texts({"policy.csv": "p\n"}).digest
