"""The work on the volume, in one process that may hang for ever: it tells each step before it begins, and each row when it is known."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .. import l2root
from ..findings import Finding, shorten
from . import judge
from .area import Area, Read
from .checks import FAIL, PASS, SKIPPED, WARN, Check
from .job import Job
from .peer import ABSENT, ENDED, FAILED, RUNNING, Peer, Peers

T = TypeVar("T")
POLL_SECONDS = 0.02
GOODBYE_SECONDS = 20.0
"""For the other one's rows, and its leave to clean up."""
VERSIONS, VERSION_BYTES, VERSION_PAUSE = 12, 256 << 10, 0.1
"""Of the file that one Pod replaces while the other reads it."""
LOOKS = 20
FULL = (errno.ENOSPC, errno.EDQUOT)
LONG = "n" * 251 + "-"
OLD_NS = 1_600_000_000 * 10**9
"""A change time of 2020, which no file here has by itself."""


class Stop(Exception):
    """Nothing more can be asked; a row says why."""


class Steps:
    """One Pod's part. ``tell`` gets what goes to the log's reader: {"doing": ...}, {"check": ...}."""

    def __init__(self, job: Job, peers: Peers, tell: Callable[[dict[str, Any]], None]) -> None:
        self._job, self._peers, self._tell = job, peers, tell
        self._end = time.monotonic() + job.deadline
        self._area = Area(job)
        self._size = job.size
        self._checks: list[Check] = []
        self._doing = ""
        self._other: dict[str, Any] = {}
        self._settled = False
        """The other one has our rows, and the first of both cleans up."""

    def run(self) -> None:
        """All of it; every fault becomes a row."""
        try:
            self._directory()
            self._space()
            self._alone()
            self._together()
        except Stop:
            pass
        except l2root.L2RootError as err:
            what, _, fix = str(err).partition(". Fix: ")
            self._row("directory", FAIL, "cannot be used", what, fix)
        except OSError as err:
            self._broke(err)
        finally:
            if not self._settled or self._job.index == 0:
                self._area.remove()
            self._area.close()

    # Alone

    def _directory(self) -> None:
        self._do("opening the directory")
        try:
            self._again(self._area.open)
        except l2root.L2RootError as err:
            if isinstance(err.__cause__, OSError) and err.__cause__.errno in FULL:
                self._full(err.__cause__)
            raise
        self._do("removing what earlier runs left")
        cleaned = self._area.clean()
        about = self._area.about()
        note = f", removed {cleaned} old" if cleaned else ""
        self._row("directory", PASS, f"{about.st_uid}:{about.st_gid} {about.st_mode & 0o777:o}{note}")
        self._do("making an empty file")
        self._again(lambda: self._area.touch(f"{self._job.index}.here"))

    def _space(self) -> None:
        self._do("asking for the free space")
        found = self._area.space()
        if not self._size:
            self._do("looking for an object")
            self._size = self._area.known_size() or DEFAULT_SIZE
        free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
        self._note(judge.space(self._job, self._size, free, total, found.f_favail))

    def _alone(self) -> None:
        self._write()
        self._lookup()
        self._names()
        self._replace()
        self._times()

    def _write(self) -> None:
        me = self._job.index
        self._do(f"writing, syncing and renaming {judge.amount(self._size)}")
        self._mine = self._again(lambda: self._area.write(f"{me}.data", self._size, f"{me}.tmp"))
        self._do("reading what was written")
        try:
            there = self._again(lambda: self._area.read(f"{me}.data"))
        except FileNotFoundError:
            self._row(
                "write", FAIL, "gone", "a file that was renamed into its place is gone: no block would ever be found",
                "do not use this volume; check its server and client",
            )  # fmt: skip
            raise Stop from None
        if (there.size, there.digest) != (self._mine.size, self._mine.digest):
            size = f"{there.size} of {self._mine.size} bytes" if there.size != self._mine.size else "other bytes"
            self._row(
                "write", FAIL, "wrong bytes", f"wrong bytes: what was written, synced and renamed is read back as {size}",
                "do not use this volume; check its server and client",
            )  # fmt: skip
            raise Stop
        self._note(judge.write(self._mine))

    def _lookup(self) -> None:
        self._do("asking for a file's attributes")
        took = []
        for _ in range(LOOKS):
            began = time.monotonic()
            self._area.look(f"{self._job.index}.data")
            took.append(time.monotonic() - began)
        self._note(judge.lookup(self._job, sorted(took)[LOOKS // 2]))

    def _names(self) -> None:
        me, area = self._job.index, self._area
        self._do("making files with long names, and names that differ in case")
        faults = []
        try:
            area.publish(f"{me}.case", b"small")
            area.touch(f"{me}.CASE")
            if area.text(f"{me}.case") != b"small" or {f"{me}.case", f"{me}.CASE"} - set(area.names()):
                faults.append("small and capital letters are the same to it")
            area.touch(f"{LONG}{me}.kv"[:255].ljust(255, "n"))
        except OSError as err:
            if err.errno not in (errno.ENAMETOOLONG, errno.EINVAL):
                raise
            faults.append(f"it takes no name of 255 bytes ({err.strerror})")
        if faults:
            what = f"names of blocks would collide or be refused: {'; '.join(faults)}"
            self._row("names", FAIL, "unfit", what, "use a filesystem with POSIX names (no SMB share, no FAT)")
        else:
            self._row("names", PASS, "case, 255 bytes")

    def _replace(self) -> None:
        me, area = self._job.index, self._area
        name, longer = f"{me}.swap", b"2" * 9000
        self._do("replacing a file by rename")
        area.publish(name, b"1" * 5000)
        with area.opened(name) as fd:
            self._again(lambda: area.publish(name, longer))
            now = area.text(name)
            # An NFS client may say ESTALE of a file that is gone; the adapter takes that as a miss.
            with contextlib.suppress(OSError):
                before = os.read(fd, 1 << 16)
                if before not in (b"1" * 5000, longer):
                    self._row(
                        "replace", FAIL, "torn", "an open file changed when another one took its name",
                        "do not use this volume; check its server and client",
                    )  # fmt: skip
                    return
        if now != longer or area.look(name).st_size != len(longer):
            what = f"after a rename over it the file is read with {len(now)} bytes instead of {len(longer)}"
            self._row("replace", WARN, "old size", what, "engines take it for a miss; update the volume's client")
        else:
            self._row("replace", PASS, "whole, size right")

    def _times(self) -> None:
        me, area = self._job.index, self._area
        name = f"{me}.case"
        self._do("setting a file's times")
        try:
            area.set_times(name, OLD_NS)
            old = area.look(name)
            area.set_times(name, None)
            new = area.look(name)
        except OSError as err:
            if err.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            self._row("times", WARN, "refused", f"the owner cannot set a file's times ({err.strerror})", KEEPER_FIX)
            return
        moved = (old.st_mtime_ns // 10**9 == OLD_NS // 10**9) and new.st_mtime_ns > OLD_NS + 10**9
        behind = time.time() - new.st_mtime
        with area.opened(name) as fd:
            os.read(fd, 10)
        atime = "atime" if area.look(name).st_atime_ns > new.st_atime_ns else "no atime"
        if not moved:
            self._row("times", WARN, "ignored", "setting a file's times is ignored", KEEPER_FIX)
        elif abs(behind) > 60:
            what = f"the volume's clock is {abs(behind):.0f} s {'behind' if behind > 0 else 'ahead of'} this node's"
            self._row("times", WARN, f"{-behind:+.0f} s", what, "set both by NTP; the keeper goes by the volume's")
        else:
            self._row("times", PASS, f"utime, {atime}")

    # Together

    def _together(self) -> None:
        me, other = self._job.index, self._job.other
        self._do("telling the other Pod")
        hello = {"node": self._job.node, "size": self._mine.size, "digest": self._mine.digest}
        self._publish(f"{me}.hello", hello)
        self._await(f"{other}.hello")
        self._other = self._json(f"{other}.hello")
        node = str(self._other.get("node"))
        if not self._job.node or node == self._job.node:
            shown = f"same node {node}".strip()
            what = f"both Pods ran on the same node ({node or 'unknown'}): reading on another node was not proven"
            fix = "nothing where there is one node only; else see why the other nodes took no Pod, and run helm upgrade again"
            self._row("other Pod", SKIPPED, shown, what, fix)
        else:
            self._row("other Pod", PASS, f"on {node}")
        self._read_other()
        self._ping()
        self._replace_there()
        self._exchange()

    def _read_other(self) -> None:
        name = f"{self._job.other}.data"
        self._do(f"reading {name}")
        found: Read = self._again(lambda: self._area.read(name))
        self._note(judge.read(self._job, found, self._other))
        self._do("listing the directory")
        if self._until(lambda: name in self._area.names(), self._job.patience):
            self._row("listing", PASS, "shows it")
        else:
            what = f"a listing does not show {name}, which can be read, within {self._job.patience:g} s"
            self._row("listing", WARN, "old", what, "the keeper counts it later; shorten the client's directory cache")

    def _ping(self) -> None:
        if self._job.index == 0:
            began = time.monotonic()
            self._publish("0.ping", {})
            self._await("1.pong")
            self._note(judge.seen((time.monotonic() - began) / 2))
        else:
            self._await("0.ping")
            self._publish("1.pong", {})

    def _replace_there(self) -> None:
        if self._job.index == 0:
            for version in range(VERSIONS):
                self._do("replacing a file while the other Pod reads it")
                self._again(lambda: self._area.publish("swap", _version(version, VERSION_BYTES)))  # noqa: B023
                time.sleep(VERSION_PAUSE)
            self._again(lambda: self._area.publish("swap", _version(VERSIONS, 2 * VERSION_BYTES)))
            self._publish("0.last", {})
            self._await("1.read")
            return
        self._await("swap")
        whole = missed = torn = 0
        while not self._area.there("0.last"):
            self._do("reading a file that the other Pod replaces")
            self._check_time()
            try:
                data = self._area.text("swap", 4 * VERSION_BYTES)
            except OSError as err:
                # Of a file that goes in mid-read the adapter makes a miss.
                if err.errno not in (errno.ENOENT, *l2root.GONE):
                    raise
                missed += 1
                continue
            if _is_version(data):
                whole += 1
            else:
                torn += 1
            time.sleep(POLL_SECONDS)
        began = time.monotonic()
        last = _version(VERSIONS, 2 * VERSION_BYTES)
        right = self._until(lambda: self._area.text("swap", 4 * VERSION_BYTES) == last, self._job.patience)
        late = time.monotonic() - began
        self._publish("1.read", {})
        shown = f"{whole} whole, {missed} missed, {torn} torn"
        if not right:
            what = f"a file that was replaced on the other node is still read with its old bytes or size {late:.0f} s later"
            fix = "do not use this volume; check its client's caches"
            self._row("replace there", FAIL, "old bytes", what, fix)
        elif torn:
            what = f"{torn} of {torn + whole} reads of a file that the other node replaced were torn"
            self._row("replace there", WARN, shown, what, "engines take them for misses; update the volume's client")
        else:
            self._row("replace there", PASS, shown)

    def _exchange(self) -> None:
        me, other = self._job.index, self._job.other
        self._publish(f"{me}.result", {"checks": [check.to_json() for check in self._checks]})
        self._do("waiting for the other Pod's rows")
        if not self._until(lambda: self._area.there(f"{other}.result"), GOODBYE_SECONDS):
            self._row("other Pod", WARN, "left", "the other Pod left before it told its rows", "see its log")
            return
        for raw in self._json(f"{other}.result").get("checks", []):
            with contextlib.suppress(KeyError, TypeError, ValueError):
                self._tell({"check": Check.from_json(raw).to_json(), "index": other})
        self._tell({"node": str(self._other.get("node")), "index": other})
        if me == 1:
            self._publish("1.bye", {})
        else:
            self._until(lambda: self._area.there("1.bye"), GOODBYE_SECONDS)
        self._settled = True

    def _await(self, name: str) -> None:
        """Wait until the other one has made a file. Raises Stop, with a row."""
        other = f"{self._job.other}.here"
        began = time.monotonic()
        met = False
        while not self._quiet(lambda: self._area.there(name)):
            self._do(f"waiting for the other Pod's {name}", volume=False)
            met = met or bool(self._quiet(lambda: self._area.there(other)))
            peer = self._peers.look()
            over = self._end - time.monotonic() <= 0
            waited = time.monotonic() - began
            if not met and not over and self._not_seen(peer, waited):
                self._not_shared(peer)
            if peer.state in (ENDED, FAILED) and self._quiet(lambda: self._area.there(name)):
                return
            if over or peer.state in (ENDED, FAILED) or (not met and self._stranger(peer, waited)):
                self._without(peer, met)
            time.sleep(POLL_SECONDS)

    def _not_seen(self, peer: Peer, waited: float) -> bool:
        # A Pod of a pool may itself wait for its mount, and there are no two volumes to mistake.
        return peer.state == RUNNING and not self._job.pool and min(peer.seconds, waited) > self._job.seen

    def _stranger(self, peer: Peer, waited: float) -> bool:
        """Nobody can tell whether there is another one."""
        return not self._job.namespace and waited > self._job.seen and peer.state not in (RUNNING, ABSENT)

    def _not_shared(self, peer: Peer) -> None:
        what = (
            f"not shared: Pod {peer.name} on node {peer.node} runs for {peer.seconds:.0f} s, and nothing that it made is seen "
            f"on node {self._job.node}: each node has a volume of its own"
        )
        fix = {
            "hostPath": "name a directory that holds the same content on each node (l2.volume.hostPath.path), or use another type",
            "existingClaim": "use a ReadWriteMany claim of a shared filesystem (l2.volume.claimName)",
        }.get(self._job.volume_type, "use a volume that both nodes share")
        self._row("other Pod", FAIL, "not shared", what, fix)
        raise Stop

    def _without(self, peer: Peer, met: bool) -> None:
        name = peer.name or f"with index {self._job.other}"
        if peer.state == FAILED:
            what = f"the other Pod {name} on node {peer.node} failed: {peer.why}"
            self._row("other Pod", FAIL, "failed", what, "do what its message says")
        elif peer.state == RUNNING and self._job.pool and not met:
            what = f"Pod {name} on node {peer.node} runs, and nothing that it made is seen on node {self._job.node}"
            fix = "see its log; its node may lack the pool's mount"
            self._row("other Pod", FAIL, "not seen", what, fix)
        else:
            why = peer.why or f"it is {peer.state}"
            what = f"reading on another node was not proven: the other Pod {name} did not take part ({why})"
            fix = "see kubectl describe pod; where it only needs longer, raise hooks.storageCheck.deadlineSeconds and helm --timeout"
            self._row("other Pod", WARN, "did not come", what, fix)
        raise Stop

    # What all of them use

    def _do(self, doing: str, volume: bool = True) -> None:
        if doing != self._doing or not volume:
            self._doing = doing
            self._tell({"doing": doing})

    def _note(self, check: Check) -> None:
        self._checks.append(check)
        self._tell({"check": check.to_json(), "index": self._job.index})

    def _row(self, name: str, verdict: str, shown: str, what: str = "", fix: str = "") -> None:
        self._note(Check(name, verdict, shown, Finding(what, fix) if what else None))

    def _check_time(self) -> None:
        if time.monotonic() >= self._end:
            what = f"the time was up while {self._doing}"
            fix = "raise hooks.storageCheck.deadlineSeconds and helm --timeout, or use a faster volume"
            self._row("answers", WARN, "late", what, fix)
            raise Stop

    def _until(self, what: Callable[[], bool], seconds: float) -> bool:
        end = min(self._end, time.monotonic() + seconds)
        while not self._quiet(what):
            if time.monotonic() >= end:
                return False
            self._do(self._doing, volume=False)
            time.sleep(POLL_SECONDS)
        return True

    def _quiet(self, what: Callable[[], T]) -> T | None:
        """An answer, or none while there are only errors that pass by."""
        try:
            return what()
        except OSError as err:
            if err.errno not in (errno.ENOENT, *l2root.GONE):
                raise
            with contextlib.suppress(OSError, l2root.L2RootError):
                self._area.open()
            return None

    def _again(self, work: Callable[[], T]) -> T:
        """``work``, again while it fails with what a pool's worker or mount that restarts says. Raises OSError, or Stop when full."""
        end = min(self._end, time.monotonic() + self._job.patience)
        began = time.monotonic()
        failed = ""
        while True:
            try:
                found = work()
                break
            except OSError as err:
                if err.errno in FULL:
                    self._full(err)
                if err.errno == errno.EIO and self._job.block and self._few():
                    self._full(err)
                if err.errno not in l2root.GONE or time.monotonic() >= end:
                    raise
                failed = err.strerror or str(err)
            except l2root.L2RootError as err:
                # What another node has just made may not be seen here yet.
                unseen = isinstance(err.__cause__, FileNotFoundError)
                if not (unseen or isinstance(err, l2root.VolumeGone)) or time.monotonic() >= end:
                    raise
                failed = "" if unseen else str(err)
            self._do(self._doing, volume=False)
            time.sleep(0.5)
            with contextlib.suppress(OSError, l2root.L2RootError):
                self._area.open()
        if failed:
            what = (
                f"{self._doing} worked only after {time.monotonic() - began:.1f} s of errors ({shorten(failed, 100)})"
            )
            fix = "nothing where a part of the pool was just replaced; else look at the volume's server and client"
            self._row("answers", WARN, "after errors", what, fix)
        return found

    def _few(self) -> bool:
        try:
            found = self._area.space()
        except OSError:
            return False
        return judge.is_full(self._job, found.f_bavail * found.f_frsize, self._size)

    def _full(self, err: OSError) -> None:
        what = f"the volume is full ({err.strerror}, {self._doing}): whether it is fit was not proven"
        self._row("write", WARN, "full", what, judge.full_fix())
        raise Stop from err

    def _broke(self, err: OSError) -> None:
        words = {errno.EROFS: "read-only", errno.EACCES: "not writable", errno.EPERM: "not writable"}
        word = words.get(err.errno or 0, "failed")
        what = f"{word}: {self._doing} as {self._job.who}: {err.strerror or err}"
        self._row("directory" if word != "failed" else "answers", FAIL, word, what, l2root.fix_of(self._job.place, err))

    def _publish(self, name: str, what: dict[str, Any]) -> None:
        self._do(f"writing {name}")
        self._again(lambda: self._area.publish(name, json.dumps(what).encode()))

    def _json(self, name: str) -> dict[str, Any]:
        self._do(f"reading {name}")
        try:
            found = json.loads(self._again(lambda: self._area.text(name)))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            what = f"wrong bytes: {name}, which the other Pod wrote in whole and renamed, is no JSON here"
            self._row("read", FAIL, "wrong bytes", what, "do not use this volume; check its server and client")
            raise Stop
        return found


KEEPER_FIX = "on a full volume the keeper reads the clock from a file whose times it sets; use a filesystem with utimes"
DEFAULT_SIZE = 9_000_000
"""Bytes; about one chunk of 256 tokens of a 7B model."""


def _version(number: int, size: int) -> bytes:
    """A file that says of each of its parts which version it is of."""
    return number.to_bytes(8, "little") * (size // 8)


def _is_version(data: bytes) -> bool:
    return len(data) in (VERSION_BYTES, 2 * VERSION_BYTES) and data == data[:8] * (len(data) // 8)
