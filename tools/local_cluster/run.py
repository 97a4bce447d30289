"""Run programs: output to a log file, failures as a `Problem` that shows the last lines."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .problem import Problem
from .settings import PLACES


def log_file(name: str) -> Path:
    PLACES.logs.mkdir(parents=True, exist_ok=True)
    return PLACES.logs / f"{name}.log"


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    log: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    fix: str = "read the log",
    timeout_s: float | None = None,
    stdin: bytes | None = None,
) -> None:
    """Run a command with its output in `logs/<log>.log` (appended).

    Raises:
        Problem: the command is missing, failed or ran past `timeout_s` seconds; holds its last lines.
    """
    path = log_file(log)
    words = [str(word) for word in command]
    with path.open("ab") as out:
        out.write(f"\n$ {shlex.join(words)}\n".encode())
        out.flush()
        begin = out.tell()
        try:
            done = subprocess.run(
                words, env=env, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, timeout=timeout_s,
                input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise Problem(f"program not found: {error.filename}", fix, str(path)) from error
        except subprocess.TimeoutExpired as error:
            raise Problem(
                f"`{shlex.join(words)[:120]}` did not end within {timeout_s:.0f} s", fix, str(path)
            ) from error
    if done.returncode:
        with path.open("rb") as written:
            written.seek(begin)
            tail = written.read().decode(errors="replace").strip().splitlines()[-12:]
        text = f"`{shlex.join(words)[:160]}` failed (exit {done.returncode})"
        raise Problem("\n    ".join([text, *tail]), fix, str(path))


def output(
    command: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 60,
    check: bool = True,
) -> str:
    """Standard output of a short command; with `check=False` an empty string when it fails or is missing."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, env=env, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=False
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        if check:
            raise Problem(f"`{shlex.join(words)[:120]}`: {error}", "see the message") from error
        return ""
    if done.returncode and check:
        raise Problem(
            f"`{shlex.join(words)[:160]}` failed (exit {done.returncode}): {done.stderr.strip()[-600:]}",
            "see the message",
        )
    return done.stdout if not done.returncode else ""
