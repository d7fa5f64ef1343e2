"""
Which earlier policies could be gone back to? The last folders that loaded, as they were, tests and EFFECTIVE.txt too.

In come sources that loaded; out comes any of the last few again, and a folder can be put back to one. Kept in memory,
and in a folder of its own where there is one, so that another process can go back too. Judges nothing.
"""

from __future__ import annotations

import io
import logging
import os
import secrets
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from gatewright.policy.errors import Misuse
from gatewright.policy.source import Source, read_folder

__all__ = ["Kept", "Revisions", "put_back"]

MOST_KEPT: Final = 10
_SHORTEST: Final = 6
_log = logging.getLogger("gatewright.policies")


class Kept(NamedTuple):
    """A revision that can be gone back to, and when it was last put into force, in seconds since the epoch."""

    revision: str
    at: float


class Revisions:
    """The last *most* sources; in *place* where it is given, else in memory. What cannot be kept is logged, no more."""

    def __init__(self, place: Path | None = None, most: int = MOST_KEPT) -> None:
        self.place: Path | None = place
        self._most = most
        self._packed: dict[Kept, bytes] = {}

    def keep(self, source: Source, at: float) -> None:
        """Keep *source*, which was put into force at *at*, and let go of the oldest."""
        packed = _pack(source)
        if self.place is None:
            self._packed = {kept: held for kept, held in self._packed.items() if kept.revision != source.digest}
            self._packed[Kept(source.digest, at)] = packed
            for kept in self.kept()[self._most :]:
                del self._packed[kept]
            return
        try:
            self._write(self.place, Kept(source.digest, at), packed)
        except OSError as error:
            _log.warning("the revision %s is not kept: %s", source.digest[:12], error.strerror)

    def kept(self) -> list[Kept]:
        """Return what is kept, the newest first."""
        found = self._packed if self.place is None else dict(self._files(self.place))
        return sorted(found, key=lambda kept: kept.at, reverse=True)

    def source_of(self, revision: str) -> Source:
        """
        Return what was in force as *revision*; its first six characters will do.

        Raises:
            Misuse: it is not kept, or several begin like that.
        """
        found = [kept for kept in self.kept() if kept.revision.startswith(revision)]
        if len(revision) < _SHORTEST or len(found) != 1:
            raise Misuse(f"no one revision {revision!r} is kept", "gatewright rollback lists those that are")
        packed = self._packed.get(found[0])
        source = _unpack(
            packed if packed is not None else dict(self._files(self.place or Path()))[found[0]].read_bytes()
        )
        if source.digest != found[0].revision:
            raise Misuse(f"what is kept as {found[0].revision[:12]} was changed", "go back to another one")
        return source

    def _write(self, place: Path, kept: Kept, packed: bytes) -> None:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = place / f"{int(kept.at * 1000):015}-{kept.revision}.zip"
        _replace(path, packed)
        files = dict(self._files(place))
        older = [held for held in files if held.revision == kept.revision and files[held] != path]
        for held in [*older, *self.kept()[self._most + len(older) :]]:
            files[held].unlink(missing_ok=True)

    @staticmethod
    def _files(place: Path) -> Iterator[tuple[Kept, Path]]:
        for path in place.glob("*-*.zip"):
            at, _, revision = path.stem.partition("-")
            if at.isdecimal():
                yield Kept(revision, int(at) / 1000), path


def put_back(folder: Path, source: Source) -> tuple[str, ...]:
    """
    Make the files of *folder* those of *source*; return the paths that changed.

    Each file changes as a whole; all of them do not at one moment, which is why guards wait until a folder is quiet.
    """
    now = read_folder(folder).files
    changed = [path for path, content in source.files.items() if now.get(path) != content]
    for path in changed:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        _replace(folder / path, source.files[path])
    gone = [path for path in now if path not in source.files]
    for path in gone:
        (folder / path).unlink()
    return tuple(sorted([*changed, *gone]))


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _mode_of(path))
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    beside.replace(path)


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return 0o600 if path.suffix == ".zip" else 0o644


def _pack(source: Source) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, content in source.files.items():
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED, 1)
    return whole.getvalue()


def _unpack(packed: bytes) -> Source:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return Source({name: archive.read(name) for name in archive.namelist()})
