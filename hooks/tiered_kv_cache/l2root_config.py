"""What the fingerprint of an L2 root hashes: what the chart rendered, and the bytes of the weights as this Pod sees them.

Weights can be replaced behind an unchanged claim, path or image, so that only the Pod can tell; two Pods share blocks
exactly if all of it is equal.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from . import context_length, kvgroups, l2root, names, weights
from .l2root import Job, L2RootError

FINGERPRINT_DIGITS = 16
MOST_SIBLINGS = 4


@dataclass(frozen=True)
class Request:
    """``parent``: the model's directory on the volume, which holds one root for each fingerprint.

    ``model``: the model's name; ``folder``: its weights; ``identity``: sampled or full; ``allow_hybrid``: the user has
    acknowledged layers of several kinds; ``length``: tokens of the context, for the few models whose blocks depend on it.
    """

    parent: str
    pod: str
    config: str | None
    model: str
    folder: Path
    identity: str = "sampled"
    allow_hybrid: bool = False
    length: int = 0


@dataclass(frozen=True)
class Resolved:
    """The directory to use, why, and how long reading the weights' bytes took in bytes."""

    job: Job
    fingerprint: str
    weights: weights.Identity


def check_groups(folder: Path, model: str, allow_hybrid: bool) -> list[str]:
    """Refuse a model whose layers keep several kinds of cache; acknowledged, the reasons are returned as lines."""
    try:
        reasons = kvgroups.reasons(weights.read_config(folder))
    except weights.WeightsError as err:
        raise L2RootError(f"models.{model}.source: {err}") from None
    if reasons and not allow_hybrid:
        raise L2RootError(
            f"models.{model}.cache: l1 or l2 is on, and layers of this model keep different kinds of cache "
            f"({'; '.join(reasons[:4])}), which LMCache's files cannot tell apart. Fix: set cache.l1.enabled and "
            f"cache.l2.enabled of the model to false (L0 stays), or take the risk of wrong answers with "
            "engine.acknowledge.hybridKvCache: true"
        )
    return [f"acknowledged (engine.acknowledge.hybridKvCache): {reason}" for reason in reasons]


def resolve(asked: Request) -> Resolved:
    """Read the weights and name the root. Raises L2RootError."""
    # With a place for the fingerprint, so that all faults of the arguments are told at once.
    rendered = l2root.job(f"{asked.parent.rstrip('/')}/fingerprint", asked.pod, asked.config)
    try:
        found = weights.identity(asked.folder, asked.identity)
        arguments = rendered.config.get("engineArgs") or []
        traits = context_length.traits(weights.read_config(asked.folder), arguments, asked.length)
    except weights.WeightsError as err:
        raise L2RootError(f"models.{asked.model}.source: {err}") from None
    except OSError as err:
        raise L2RootError(
            f"models.{asked.model}.source: cannot read {err.filename or asked.folder}: {err.strerror}. "
            "Fix: mend the volume that holds the weights, or let the user of the Pod read it"
        ) from None
    config = {**rendered.config, "weights": found.as_json()}
    revision = fetched_revision(asked.folder)
    if revision:
        config["revision"] = revision
    if traits:
        config["contextLength"] = traits
    name = fingerprint(config)
    root = PurePosixPath(asked.parent) / name
    return Resolved(Job(root, asked.pod, config, rendered.mount), name, found)


def canonical(config: dict[str, Any]) -> bytes:
    """The one text of a configuration: keys sorted, no blanks, UTF-8."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def fingerprint(config: dict[str, Any]) -> str:
    """Name of the root of a configuration."""
    return hashlib.sha256(canonical(config)).hexdigest()[:FINGERPRINT_DIGITS]


def fetched_revision(folder: Path) -> str:
    """Commit or listing that fetch wrote beside the weights; "" if they come from elsewhere."""
    try:
        marker = json.loads((folder / names.MODEL_MARKER).read_bytes())
        return str(marker["revision"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def siblings(job: Job) -> list[str]:
    """Why this Pod does not share with the model's other roots: one line each, the newest first."""
    parent = Path(job.root.parent)
    others = sorted(
        (p for p in parent.iterdir() if p.name != job.root.name and p.is_dir() and not p.is_symlink()),
        key=lambda p: -p.stat().st_mtime,
    )
    lines = []
    for other in others[:MOST_SIBLINGS]:
        try:
            there = json.loads((other / names.L2_CONFIG_FILE).read_bytes())
        except (OSError, ValueError):
            continue
        lines.append(f"not shared with {other.name}: {'; '.join(l2root.differences(there, job.config)[:8])}")
    if len(others) > MOST_SIBLINGS:
        lines.append(f"not shared with {len(others) - MOST_SIBLINGS} older directories in {parent}")
    return lines


def link(target: PurePosixPath, at: Path) -> None:
    """Make ``at`` a symbolic link to the root: LMCache's path is the same in all Pods, whatever the fingerprint."""
    new = at.with_name(f".{at.name}.{secrets.token_hex(4)}")
    try:
        new.symlink_to(target)
        new.replace(at)
    except OSError as err:
        raise L2RootError(
            f"cannot make the link {at}: {err.strerror}. Fix: mount an emptyDir that this user may write at {at.parent}"
        ) from err
