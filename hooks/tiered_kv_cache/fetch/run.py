"""From "is the model in the store" to "it is there": find, wait, or download and publish."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .errors import Changed, Fenced, FetchError, Transient
from .lease import Claim, Claims
from .progress import Progress, human, waiting
from .remote import Listing, Remote
from .spec import Job
from .store import Place
from .work import Work

POLL_SECONDS = 2.0
TRIES = 5
"""Failures in a row, without a byte in between, after which the network counts as absent; each try of the library's own
retries included that is about a minute."""
BACK_OFF_SECONDS = 1.0
MOST_CHANGES = 5

T = TypeVar("T")


@dataclass(frozen=True)
class Fetched:
    """The finished model. ``how``: found, waited or downloaded."""

    path: Path
    revision: str
    size: int
    how: str


class Fetch:
    """One fetch. ``claim`` is the claim that is held now, for the caller that must give it back when time is up."""

    def __init__(
        self, job: Job, remote: Remote, progress: Progress, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._job, self._remote, self._progress, self._sleep = job, remote, progress, sleep
        self.claim: Claim | None = None

    def run(self) -> Fetched:
        """Raises FetchError. The caller watches the deadline."""
        for _ in range(MOST_CHANGES):
            listing = None
            revision = self._remote.fixed_revision
            if revision is None:
                self._progress.state("asking for the list of files")
                listing = self._patiently(self._remote.listing)
                revision = listing.revision
            try:
                return self._place(Place(self._job, revision), listing)
            except Changed as err:
                self._progress.note(f"{err}: beginning with a new listing")
        raise FetchError(
            self._job.key,
            "changing",
            f"the content changed {MOST_CHANGES} times during the download",
            "fetch from a folder that nobody writes to",
        )

    def _place(self, place: Place, listing: Listing | None) -> Fetched:
        how = "found"
        try:
            if place.whole():
                return Fetched(place.final, place.revision, place.size(), how)
            claims = Claims(place.control, self._job)
            while True:
                taken = claims.take()
                if isinstance(taken, Claim):
                    try:
                        how = self._write(place, taken, listing) or how
                    except Fenced:
                        self._progress.note("another Pod has taken the download over")
                        claims = Claims(place.control, self._job)
                        continue
                    return Fetched(place.final, place.revision, place.size(), how)
                if place.whole():
                    return Fetched(place.final, place.revision, place.size(), "waited")
                how = "waited"
                self._progress.state(waiting(taken, self._job.lease_seconds))
                self._sleep(min(POLL_SECONDS, self._job.lease_seconds / 10))
        except OSError as err:
            raise self._explained(err) from err

    def _write(self, place: Place, claim: Claim, listing: Listing | None) -> str:
        """As the one writer. Returns "" if the model was there by the time the claim was."""
        self.claim = claim
        with claim:
            try:
                if place.whole():
                    place.finish()
                    return ""
                if claim.taken_over:
                    self._progress.note("the Pod that downloaded before gives no sign of life: taking over what it has")
                if listing is None:
                    self._progress.state("asking for the list of files")
                    listing = self._patiently(self._remote.listing)
                for name in place.sweep(claim.volume_time()):
                    self._progress.note(f"removed {name}, left by a download that died")
                work = Work(claim, listing, self._progress)
                work.prepare()
                claim.tell = self._progress.beat
                self._check_space(listing, work)
                self._patiently(lambda: work.download(self._remote))
                place.mark(work.path, listing)
                claim.check()
                if place.discard_broken():
                    self._progress.note(f"removed {place.final}, which was not whole")
                try:
                    place.publish(work.path)
                except FileNotFoundError:
                    raise Fenced from None
                place.finish()
                return "downloaded"
            except Fenced:
                raise
            except BaseException:
                claim.release()
                raise
            finally:
                self.claim = None

    def _patiently(self, call: Callable[[], T]) -> T:
        """``call``, again after a Transient, with growing pauses; the count begins anew when bytes came."""
        failures, received = 0, self._progress.received
        while True:
            try:
                return call()
            except Transient as err:
                if self._progress.received > received:
                    failures, received = 0, self._progress.received
                failures += 1
                if failures >= TRIES:
                    raise FetchError(
                        self._job.key,
                        "unreachable",
                        f"{err}; {failures} tries",
                        "check DNS, egress NetworkPolicies and the proxy (HTTPS_PROXY in engine.env); the Pod tries again, "
                        "and goes on from what it has",
                    ) from None
                if self.claim and self.claim.lost.is_set():
                    raise Fenced from None
                pause = BACK_OFF_SECONDS * 2 ** (failures - 1)
                self._progress.note(f"{err}: trying again in {pause:g} s")
                self._sleep(pause)

    def _check_space(self, listing: Listing, work: Work) -> None:
        limit = self._job.size_limit
        if limit and listing.size > limit:
            raise FetchError(
                "modelStore.size",
                human(limit),
                f"the model has {human(listing.size)}",
                f"set it to {human(listing.size * 1.05)} or more",
            )
        stat = os.statvfs(work.path)
        free, need = stat.f_bavail * stat.f_frsize, listing.size - work.present()
        # Filesystems without a figure say 0.
        if stat.f_blocks and free < need:
            raise self._full(f"the model needs {human(need)} more, and {human(free)} are free")

    def _full(self, why: str) -> FetchError:
        old = "(old revisions stay until they are deleted)"
        key, fix = {
            "emptyDir": ("modelStore.size", "give the node more ephemeral storage, or use another modelStore.type"),
            "hostPath": ("modelStore.hostPath.path", f"free space in that directory on this node {old}"),
        }.get(self._job.store_type, ("modelStore.claimName", f"free space on the claim {old}, or make it larger"))
        return FetchError(key, f"{self._job.store_type or 'store'} is full", why, fix)

    def _explained(self, err: OSError) -> FetchError:
        job = self._job
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            return self._full(f"{err.strerror} while writing {Path(str(err.filename or job.store)).name}")
        key = {"hostPath": "modelStore.hostPath.path", "existingClaim": "modelStore.claimName"}.get(
            job.store_type, "modelStore"
        )
        if err.errno in (errno.EACCES, errno.EPERM):
            uid, gid = os.getuid(), os.getgid()
            fix = (
                f"let uid {uid} gid {gid} write there: for hostPath, chown {uid}:{gid} the directory on the node; "
                "for a claim, use a volume that honours fsGroup"
            )
        elif err.errno == errno.EROFS:
            fix = "mount the model store read-write"
        else:
            fix = "mend the volume; the Pod tries again by itself"
        return FetchError(key, str(err.filename or job.store), err.strerror or str(err), fix)
