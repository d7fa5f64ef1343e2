"""
What bytes are in a policies folder? Every file read once, so that one revision is judged and none in between.

In comes a folder or a mapping of texts; out comes an immutable `Source`, or `PolicyInvalid` for what cannot be read:
a missing folder, a socket, a link that leaves the folder, a file over its cap, a folder that changes while it is read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from gatewright.policy.errors import Finding, Place, PolicyInvalid

__all__ = ["Source", "read_folder"]

MAX_ROWS_FILE: Final = 256 * 1024 * 1024
"""Bytes of a policy.csv; other files are people's prose and stay below `MAX_FILE`."""
MAX_FILE: Final = 8 * 1024 * 1024
MAX_FILES: Final = 20_000
_DEEPEST: Final = 16
_MOST_TRIES: Final = 5
_BACKUPS: Final = ("~", ".swp", ".tmp", ".bak", ".orig")
_UNDECIDING: Final = ("tests/", "EFFECTIVE.txt")

_Stamp: TypeAlias = "tuple[int, int, int, int]"


class Source:
    """
    The files of one policies folder, as bytes by their POSIX path inside it.

    *digest* is SHA-256 over path and content of everything that decides: all but tests and EFFECTIVE.txt.
    """

    __slots__ = ("digest", "files", "origin")

    def __init__(self, files: Mapping[str, bytes], origin: str = "") -> None:
        self.files: Mapping[str, bytes] = MappingProxyType(dict(sorted(files.items())))
        self.origin: str = origin
        self.digest: str = _digest(self.files)

    def fingerprint(self) -> str:
        """Return a digest of everything, tests and EFFECTIVE.txt too: whether anything looks different."""
        rest = {path: content for path, content in self.files.items() if path.startswith(_UNDECIDING)}
        return f"{self.digest} {_hashed(rest)}"

    @classmethod
    def from_texts(cls, texts: Mapping[str, str]) -> Source:
        """Return the source that holds *texts*, by path."""
        return cls({path: text.encode("utf-8", "surrogatepass") for path, text in texts.items()})

    def under(self, folder: str, *suffixes: str) -> Iterator[str]:
        """Yield the paths below *folder* that end in one of *suffixes*, sorted."""
        yield from (path for path in self.files if path.startswith(f"{folder}/") and path.endswith(suffixes))


def read_folder(path: str | Path) -> Source:
    """
    Read every file of the folder at *path* once; dot files and editors' backups are left out.

    The files are those of one moment: where anything changes meanwhile, all is read again, a few times.

    Raises:
        PolicyInvalid: the folder or a file in it cannot be read as it should.
    """
    root = Path(path)
    if not root.is_dir():
        raise PolicyInvalid(
            [Finding(Place(str(path)), "folder_missing", "there is no such policies folder", "is the path right?")]
        )
    for _ in range(_MOST_TRIES):
        reading = _Reading(root)
        files = reading.read()
        if reading.is_unchanged():
            if reading.findings:
                raise PolicyInvalid(reading.findings)
            return Source(files, str(root))
    raise PolicyInvalid(
        [Finding(Place(str(path)), "changing", "the folder changes while it is read", "swap it as a whole")]
    )


class _Reading:
    """One pass over a folder. *stamps* remember how each file was when it was read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = os.path.realpath(root)
        self.findings: list[Finding] = []
        self.stamps: dict[str, _Stamp] = {}

    def read(self) -> dict[str, bytes]:
        files = {}
        for name in self._walk("", 0):
            if len(self.stamps) >= MAX_FILES:
                self._find(name, "too_many_files", f"more than {MAX_FILES} files")
                break
            content = self._content(name)
            if content is not None:
                files[name] = content
        return files

    def is_unchanged(self) -> bool:
        """Whether the same files are there as were read, untouched since."""
        again = _Reading(self.root)
        names = set(again._walk("", 0))
        if again.home != self.home:
            return False
        if not self.findings and names != set(self.stamps):
            return False
        return all(_stamp_at(self.root / name) == stamp for name, stamp in self.stamps.items())

    def _walk(self, folder: str, depth: int) -> Iterator[str]:
        """Yield the paths of the files below *folder*, sorted."""
        if depth > _DEEPEST:
            self._find(folder, "too_deep", f"more than {_DEEPEST} folders in one another")
            return
        try:
            entries = sorted(os.scandir(self.root / folder), key=lambda entry: entry.name)
        except OSError as error:
            self._find(folder or ".", "unreadable", f"the folder cannot be read: {error.strerror}")
            return
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith((".", "#")) or entry.name.endswith(_BACKUPS):
                continue
            if not entry.name.isprintable():
                self._find(ascii(name)[1:-1], "bad_file_name", "a file name holds what cannot be printed")
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(name, depth + 1)
            elif self._is_inside(name, entry):
                if entry.is_dir():
                    yield from self._walk(name, depth + 1)
                else:
                    yield name

    def _is_inside(self, name: str, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return True
        target = os.path.realpath(entry.path)
        if os.path.commonpath([self.home, target]) != self.home:
            self._find(name, "outside_folder", "a link leads out of the folder", "copy the file")
            return False
        if os.path.isdir(target) and not self._is_hidden(target):
            self._find(name, "linked_folder", "a link to a folder is not followed", "move the folder here")
            return False
        return True

    def _is_hidden(self, target: str) -> bool:
        """Whether *target* is reached by links alone, as the folders behind a mounted `..data` are."""
        return any(part.startswith(".") for part in _below(self.home, target))

    def _content(self, name: str) -> bytes | None:
        most = MAX_ROWS_FILE if name.endswith(".csv") else MAX_FILE
        try:
            descriptor = os.open(self.root / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                facts = os.fstat(descriptor)
                if not stat.S_ISREG(facts.st_mode):
                    self._find(name, "not_a_file", "this is no regular file")
                    return None
                content = file.read(most + 1)
        except OSError as error:
            self._find(name, "unreadable", f"cannot be read: {error.strerror}")
            return None
        if len(content) > most:
            self._find(name, "file_too_large", f"more than {most} bytes")
            return None
        self.stamps[name] = _stamp(facts)
        return content

    def _find(self, name: str, code: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(Place(name), code, message, hint))


def _below(home: str, target: str) -> list[str]:
    return [] if target == home else os.path.relpath(target, home).split(os.sep)


def _stamp(facts: os.stat_result) -> _Stamp:
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _stamp_at(path: Path) -> _Stamp | None:
    try:
        return _stamp(os.stat(path))
    except OSError:
        return None


def _digest(files: Mapping[str, bytes]) -> str:
    return _hashed({path: content for path, content in files.items() if not path.startswith(_UNDECIDING)})


def _hashed(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for path, content in files.items():
        whole.update(f"{len(path)}:{path}:{len(content)}:".encode("utf-8", "surrogatepass"))
        whole.update(content)
    return whole.hexdigest()
