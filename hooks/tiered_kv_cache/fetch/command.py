"""The verb fetch: the environment in, lines and one clear message out."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from .. import names
from ..termination import leave_message
from . import spec, store
from .errors import FetchError
from .progress import Progress, human
from .remote import Remote
from .run import Fetch, Fetched

FAILED, STOPPED = 1, 143
LINE_SECONDS = 5.0


def main(args: argparse.Namespace) -> bool:
    """Fetch the model; False after a message. Raises UsageError."""
    job = _job(args)
    progress = Progress(_say)
    began = time.monotonic()
    fetch = Fetch(job, _remote(job), progress)
    outcome: list[Fetched | BaseException] = []

    def work() -> None:
        try:
            outcome.append(fetch.run())
        except BaseException as err:
            outcome.append(err)

    signal.signal(signal.SIGTERM, lambda *_: _stop(fetch))
    # A thread of its own: a call into a volume that is gone can block for ever, and this one keeps the time.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    said = ""
    while not outcome and time.monotonic() - began < job.deadline_seconds:
        thread.join(min(LINE_SECONDS, job.deadline_seconds / 10))
        if not outcome and (line := progress.line()) != said:
            _say(line)
            said = line
    if not outcome:
        _fail(
            str(FetchError(
                "modelStore.deadlineSeconds", f"{job.deadline_seconds:g}", f"not complete in this time; {progress.line()}",
                "raise it, or look at the network and the store; what was downloaded is kept, and the next try goes on from there",
            )),
            fetch,
        )  # fmt: skip
    result = outcome[0]
    if isinstance(result, FetchError):
        _fail(str(result), fetch)
    if isinstance(result, BaseException):
        raise result
    if job.link:
        store.link(result.path, job.link)
    seconds = time.monotonic() - began
    _say({
        "found": f"{result.path} is there: {human(result.size)}",
        "waited": f"{result.path} is there: {human(result.size)}, downloaded by another Pod; waited {seconds:.0f} s",
        "downloaded": f"{result.path} is there: {human(result.size)}, downloaded in {seconds:.0f} s",
    }[result.how])  # fmt: skip
    leave_message(json.dumps({
        "path": str(result.path), "revision": result.revision, "bytes": result.size, "how": result.how, "seconds": round(seconds, 1),
    }))  # fmt: skip
    return True


def _job(args: argparse.Namespace) -> spec.Job:
    return spec.Job(
        model=args.model,
        source=spec.source(os.environ.get(names.ENV_SOURCE)),
        store=Path(args.store),
        # A restarted container has the same Pod; outside a Pod nobody is the same.
        owner=os.environ.get(names.ENV_POD_UID) or secrets.token_hex(8),
        pod=os.environ.get(names.ENV_POD_NAME, ""),
        link=Path(args.link) if args.link else None,
        size_limit=args.size_limit,
        store_type=args.store_type,
        deadline_seconds=args.deadline,
        lease_seconds=args.lease,
    )


def _remote(job: spec.Job) -> Remote:
    # Imported where needed: each of the two libraries takes a second.
    if isinstance(job.source, spec.HubSource):
        from .hub import Hub  # noqa: PLC0415

        return Hub(job, job.source, os.environ.get("HF_TOKEN", ""))
    from .s3 import S3  # noqa: PLC0415

    return S3(job, job.source)


def _stop(fetch: Fetch) -> NoReturn:
    _say("told to stop; what was downloaded is kept")
    _give_back(fetch)
    sys.stdout.flush()
    os._exit(STOPPED)


def _fail(message: str, fetch: Fetch) -> NoReturn:
    print(f"fetch: {message}", file=sys.stderr, flush=True)
    leave_message(message)
    _give_back(fetch)
    sys.stdout.flush()
    # Not by return: a thread that hangs in the volume would keep the process alive.
    os._exit(FAILED)


def _give_back(fetch: Fetch) -> None:
    """Release the claim, unless the volume hangs."""
    claim = fetch.claim
    if claim is None:
        return
    thread = threading.Thread(target=claim.release, daemon=True)
    thread.start()
    thread.join(2)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        print(f"fetch: {line}", flush=True)
