"""
What bytes are in a policies folder? Every file read once, so that one revision is judged and none in between.

In comes a folder or a mapping of texts; out comes an immutable `Source`, or `PolicyInvalid` for what cannot be read:
a missing folder, a socket, a link that leaves the folder, a file or a folder over its cap.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from gatewright.policy.errors import Finding, Place, PolicyInvalid

__all__ = ["Source", "read_folder"]

MAX_FILE = 64 * 1024 * 1024
MAX_FILES = 20_000
_IGNORED = (".", "~", "#")
_UNDECIDING = ("tests/", "EFFECTIVE.txt")


class Source:
    """
    The files of one policies folder, as bytes by their POSIX path inside it.

    *digest* is SHA-256 over path and content of everything that decides: all but tests and EFFECTIVE.txt.
    """

    __slots__ = ("digest", "files", "origin")

    def __init__(self, files: Mapping[str, bytes], origin: str = "") -> None:
        self.files: Mapping[str, bytes] = MappingProxyType(dict(sorted(files.items())))
        self.origin = origin
        self.digest = _digest(self.files)

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

    Raises:
        PolicyInvalid: the folder or a file in it cannot be read as it should.
    """
    root = Path(path)
    if not root.is_dir():
        raise PolicyInvalid([Finding(Place(str(path)), "folder_missing", "there is no such policies folder")])
    findings: list[Finding] = []
    files: dict[str, bytes] = {}
    for name in _walk(root, findings):
        try:
            files[name] = _read(root, name)
        except PolicyInvalid as error:
            findings.extend(error.findings)
    if findings:
        raise PolicyInvalid(findings)
    return Source(files, str(root))


def _walk(root: Path, findings: list[Finding]) -> list[str]:
    names: list[str] = []
    home = os.path.realpath(root)
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith(_IGNORED) or name.endswith(("~", ".swp", ".tmp", ".bak")):
                continue
            full = os.path.join(folder, name)
            relative = Path(full).relative_to(root).as_posix()
            if os.path.commonpath([home, os.path.realpath(full)]) != home:
                findings.append(Finding(Place(relative), "outside_folder", "a link leads out of the folder"))
            elif len(names) < MAX_FILES:
                names.append(relative)
            else:
                findings.append(Finding(Place(relative), "too_many_files", f"more than {MAX_FILES} files"))
                return names
    return names


def _read(root: Path, name: str) -> bytes:
    def refuse(code: str, message: str) -> PolicyInvalid:
        return PolicyInvalid([Finding(Place(name), code, message)])

    try:
        descriptor = os.open(root / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise refuse("not_a_file", "this is no regular file")
            if facts.st_size > MAX_FILE:
                raise refuse("file_too_large", f"more than {MAX_FILE} bytes")
            return file.read(MAX_FILE + 1)
    except OSError as error:
        raise refuse("unreadable", f"cannot be read: {error.strerror}") from None


def _digest(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for path, content in files.items():
        if not path.startswith(_UNDECIDING):
            whole.update(f"{len(path)}:{path}:{len(content)}:".encode("utf-8", "surrogatepass"))
            whole.update(content)
    return whole.hexdigest()
