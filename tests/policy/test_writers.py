"""However a folder is written, one revision of it is in force or the one before, and each new one within two looks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import DEFERRED, load_policies
from gatewright.policy.source import Source, read_folder
from gatewright.policy.store import Store
from small_policies import names_yaml

OLD = (
    "".join(f"p, viewer, *, service:s{number}, read, allow\n" for number in range(12))
    + "p, *, *, service:s0, read, deny\n"
)
NEW = OLD.replace("service:s", "service:t")
Writer: TypeAlias = "Callable[[Path], Iterator[None]]"


def in_place(folder: Path) -> Iterator[None]:
    """The same file, written over."""
    (folder / "policy.csv").write_text(NEW)
    yield


def in_pieces(folder: Path) -> Iterator[None]:
    """Truncated, then written 64 bytes at a time."""
    with (folder / "policy.csv").open("w") as file:
        for at in range(0, len(NEW), 64):
            file.write(NEW[at : at + 64])
            file.flush()
            yield


def renamed_over(folder: Path) -> Iterator[None]:
    """A new file takes the place of the old one."""
    (folder / ".new").write_text(NEW)
    (folder / ".new").rename(folder / "policy.csv")
    yield


def by_an_editor(folder: Path) -> Iterator[None]:
    """The old file becomes a backup, and a new one is written."""
    (folder / "policy.csv").rename(folder / "policy.csv~")
    yield
    (folder / "policy.csv").write_text(NEW)
    yield
    (folder / "policy.csv~").unlink()
    yield


def deleted_and_created(folder: Path) -> Iterator[None]:
    """Gone for a moment."""
    (folder / "policy.csv").unlink()
    yield
    (folder / "policy.csv").write_text(NEW)
    yield


def same_size_and_time(folder: Path) -> Iterator[None]:
    """Nothing that a listing shows is otherwise."""
    facts = (folder / "policy.csv").stat()
    (folder / "policy.csv").write_text(NEW)
    os.utime(folder / "policy.csv", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert (folder / "policy.csv").stat().st_size == facts.st_size
    yield


def several_together(folder: Path) -> Iterator[None]:
    """Two files that belong together, one after the other."""
    (folder / "names.yaml").write_text(names_yaml().replace("viewer", "watcher"))
    yield
    (folder / "policy.csv").write_text(OLD.replace("viewer", "watcher"))
    yield


WRITERS = [
    in_place,
    in_pieces,
    renamed_over,
    by_an_editor,
    deleted_and_created,
    same_size_and_time,
    several_together,
]


class Watched:
    """A store over a folder; its patience between two looks is what moves a writer on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.seen: list[str] = []
        self.builds = 0
        self.store: Store[str] = Store(self.build, self.look, settle_s=0.15, listener=self)
        self.moving: Iterator[None] = iter(())
        monkeypatch.setattr(self.store._watcher, "pause", self.move)

    def look(self) -> str:
        return read_folder(self.folder).fingerprint()

    def build(self) -> str:
        self.builds += 1
        return load_policies(read_folder(self.folder), DEFERRED).revision

    def loaded(self, old: str | None, new: str) -> None:
        self.seen.append(new)

    def rejected(self, findings: object, looks: str) -> None:
        self.seen.append("rejected")

    def move(self, seconds: float) -> bool:
        """Let the writer go on; never asked to stop."""
        next(self.moving, None)
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the old policies."""
    write(tmp_path / "policies")
    return tmp_path / "policies"


def write(folder: Path, rows: str = OLD) -> None:
    """Write the policies."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in {"names.yaml": names_yaml(), "identity.yaml": "issuers: []\n", "policy.csv": rows}.items():
        (folder / path).write_text(text)


@pytest.mark.case(6)
@pytest.mark.case(22)
@pytest.mark.promise("P10")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_is_seen_as_a_whole(writer: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half of it is ever loaded, and it is loaded once."""
    watched = Watched(folder, monkeypatch)
    watched.moving = writer(folder)
    next(watched.moving)
    for _ in range(20):
        watched.store.poll()
    assert watched.seen == [watched.seen[0], read_folder(folder).digest]
    assert watched.seen[0] != watched.seen[1]
    assert not watched.store.health.degraded


@pytest.mark.case(22)
def test_touching_a_file_loads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content counts."""
    watched = Watched(folder, monkeypatch)
    os.utime(folder / "policy.csv")
    assert (watched.store.poll(), watched.builds) == (None, 1)


@pytest.mark.case(22)
@pytest.mark.promise("P10")
def test_a_mounted_folder_that_is_swapped_is_seen_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders are links through `..data`, which is swapped by one rename; nothing is read twice."""
    folder = tmp_path / "mounted"
    for name, rows in (("..one", OLD), ("..two", NEW)):
        write(folder / name, rows)
        (folder / name / "tools").mkdir()
        (folder / name / "tools" / "t.yaml").write_text(f"tool: t.one\nlimits: [ {{ id: l{len(name)}{name[2:]} }} ]\n")
    (folder / "..data").symlink_to("..one")
    for name in ("names.yaml", "identity.yaml", "policy.csv", "tools"):
        (folder / name).symlink_to(f"..data/{name}")
    source = read_folder(folder)
    assert set(source.files) == {"names.yaml", "identity.yaml", "policy.csv", "tools/t.yaml"}
    watched = Watched(folder, monkeypatch)
    (folder / "..swap").symlink_to("..two")
    (folder / "..swap").rename(folder / "..data")
    watched.store.poll()
    watched.store.poll()
    assert watched.seen == [source.digest, read_folder(folder).digest]
    assert source.digest != read_folder(folder).digest


def test_a_folder_that_never_comes_to_rest_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last good set stays, health says why, and rest is enough to mend it."""
    watched = Watched(folder, monkeypatch)

    def restless() -> Iterator[None]:
        for number in range(1000):
            (folder / "policy.csv").write_text(NEW + f"# {number}\n")
            yield

    watched.moving = restless()
    next(watched.moving)
    assert watched.store.poll() is None
    assert [finding.code for finding in watched.store.health.findings] == ["changing"]
    watched.moving = iter(())
    assert watched.store.poll() == read_folder(folder).digest
    assert not watched.store.health.degraded


def test_a_stale_mark_that_comes_last_is_looked_at_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EFFECTIVE.txt and tests decide nothing, and yet a folder that differs in them alone is another one to look at."""
    watched = Watched(folder, monkeypatch)
    (folder / "EFFECTIVE.txt").write_text("nothing yet\n")
    watched.store.poll()
    assert watched.builds == 2


@pytest.mark.case(21)
@pytest.mark.promise("P10")
def test_a_role_a_file_and_a_schema_take_effect_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role renamed in place, one of two files deleted, only a schema changed: one revision."""
    (folder / "tools").mkdir()
    (folder / "tools" / "one.yaml").write_text("tool: t.one\nlimits: [ { id: a } ]\n")
    (folder / "tools" / "two.yaml").write_text("tool: t.one\nlimits: [ { id: b } ]\n")
    watched = Watched(folder, monkeypatch)

    def change() -> Iterator[None]:
        (folder / "names.yaml").write_text(names_yaml().replace("viewer", "watcher"))
        yield
        (folder / "policy.csv").write_text(OLD.replace("viewer", "watcher"))
        yield
        (folder / "tools" / "two.yaml").unlink()
        yield
        (folder / "conditions.yaml").write_text("few: { total: { maximum: 3 } }\n")
        yield

    watched.moving = change()
    next(watched.moving)
    for _ in range(10):
        watched.store.poll()
    assert watched.seen == [watched.seen[0], read_folder(folder).digest]


@pytest.mark.case(5)
@pytest.mark.parametrize("fault", ["removed", "row", "bytes", "folder"])
def test_whatever_breaks_a_folder_keeps_the_last_good_set(
    fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old version serves, its age grows, the listener hears once, and what is mended is taken up."""
    watched = Watched(folder, monkeypatch)
    first = watched.store.current
    if fault == "folder":
        folder.rename(folder.with_name("away"))
    elif fault == "removed":
        (folder / "policy.csv").unlink()
    else:
        (folder / "policy.csv").write_bytes(b"p, viewer\n" if fault == "row" else b"\xff\n")
    for _ in range(3):
        watched.store.poll()
    assert (watched.store.current, watched.seen) == (first, [first, "rejected"])
    assert watched.store.health.degraded
    if fault == "folder":
        folder.with_name("away").rename(folder)
    (folder / "policy.csv").write_text(NEW)
    watched.store.poll()
    assert watched.store.current == read_folder(folder).digest
    assert not watched.store.health.degraded


def test_a_hint_wakes_the_watcher_long_before_its_next_look(folder: Path) -> None:
    """The poll alone would come in an hour."""
    heard = threading.Event()

    class Hearing:
        def loaded(self, old: Source | None, new: Source) -> None:
            if old is not None:
                heard.set()

        def rejected(self, findings: object, looks: str) -> None:
            """Nothing is broken here."""

    store: Store[Source] = Store(
        lambda: read_folder(folder), lambda: read_folder(folder).digest, listener=Hearing(), poll_s=3600, hints=folder
    )
    store.start()
    try:
        for number in range(100):  # the first hints may come before anybody listens for them
            (folder / "policy.csv").write_text(NEW + f"# {number}\n")
            if heard.wait(0.2):
                break
        assert heard.is_set()
    finally:
        store.stop()


def test_a_process_that_was_forked_watches_by_itself(folder: Path) -> None:
    """Threads do not come along, and locks that another thread held are made anew."""
    store: Store[Source] = Store(lambda: read_folder(folder), lambda: read_folder(folder).digest, poll_s=0.02)
    store.start()
    ours, theirs = os.pipe()
    with store._loading:
        child = os.fork()
        if child == 0:
            (folder / "policy.csv").write_text(NEW)
            wanted = read_folder(folder).digest
            for _ in range(500):
                if store.current.digest == wanted:
                    os.write(theirs, b"live")
                    break
                threading.Event().wait(0.02)
            os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    store.stop()
    assert os.read(ours, 4) == b"live"
    os.close(ours)


def test_a_broken_folder_at_the_start_raises(folder: Path) -> None:
    """There is no last good set."""
    (folder / "policy.csv").write_text("p, viewer\n")
    with pytest.raises(PolicyInvalid, match="row_width"):
        Store(lambda: load_policies(read_folder(folder), DEFERRED))
