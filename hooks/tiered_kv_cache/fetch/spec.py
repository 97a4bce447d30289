"""What to fetch, from the environment that the chart renders."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from .. import names
from ..findings import UsageError

COMMIT = re.compile(r"[0-9a-f]{40}")
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True)
class HubSource:
    """A repository of Hugging Face at one commit. ``token_from`` names the Secret, for messages; "" without one."""

    id: str
    revision: str
    endpoint: str = ""
    token_from: str = ""

    @property
    def place(self) -> PurePosixPath:
        """Directory of the repository in the store."""
        return PurePosixPath("hf", self.id.replace("/", "--"))


@dataclass(frozen=True)
class S3Source:
    """A folder of a bucket. ``credentials_from`` names the Secret, for messages; "" for the Pod's own role."""

    bucket: str
    prefix: str
    region: str = ""
    endpoint: str = ""
    credentials_from: str = ""

    @property
    def place(self) -> PurePosixPath:
        """Directory of the folder in the store; two endpoints may have a bucket of one name."""
        key = hashlib.sha256(f"{self.endpoint.rstrip('/')}\n{self.prefix.strip('/')}".encode()).hexdigest()[:16]
        return PurePosixPath("s3", self.bucket, key)


Source = HubSource | S3Source


@dataclass(frozen=True)
class Job:
    """One fetch. ``size_limit``: bytes that the store may hold (0: as much as fits), ``link``: made to point there.

    ``owner`` is the same for a restarted container of one Pod, and no other's.
    """

    model: str
    source: Source
    store: Path
    owner: str
    pod: str = ""
    link: Path | None = None
    size_limit: int = 0
    store_type: str = ""
    deadline_seconds: float = 3600.0
    lease_seconds: float = 90.0

    @property
    def key(self) -> str:
        """Key of the source in the chart's values."""
        kind = "huggingFace" if isinstance(self.source, HubSource) else "s3"
        return f"models.{self.model}.source.{kind}"


def source(text: str | None) -> Source:
    """The source in ``names.ENV_SOURCE``; raises UsageError with every fault."""
    if not text:
        raise UsageError(f"the environment has no {names.ENV_SOURCE}. Fix: set it to the JSON that the chart renders")
    try:
        raw: Any = json.loads(text)
    except ValueError as err:
        raise UsageError(f"{names.ENV_SOURCE} is not JSON: {err}. Fix: give the JSON that the chart renders") from None
    if not isinstance(raw, dict) or len(raw) != 1 or not isinstance(next(iter(raw.values())), dict):
        raise UsageError(f'{names.ENV_SOURCE} must be {{"huggingFace": {{...}}}} or {{"s3": {{...}}}}. Fix: give one')
    ((kind, fields),) = raw.items()
    if kind == "huggingFace":
        return _hub(fields)
    if kind == "s3":
        return _s3(fields)
    raise UsageError(f"{names.ENV_SOURCE}: {kind!r} cannot be fetched. Fix: huggingFace or s3")


def _hub(raw: dict[str, Any]) -> HubSource:
    faults = []
    if not REPOSITORY.fullmatch(str(raw.get("id", ""))):
        faults.append(f"source.huggingFace.id: {raw.get('id')!r}: no <organisation>/<name>. Fix: copy it from the page")
    if not COMMIT.fullmatch(str(raw.get("revision", ""))):
        faults.append(
            f"source.huggingFace.revision: {raw.get('revision')!r}: no commit of 40 hex digits. Fix: copy the commit"
        )
    if faults:
        raise UsageError("\n".join(faults))
    secret = raw.get("tokenSecret") or {}
    said = f"Secret {secret.get('name')} (key {secret.get('key', 'token')})" if secret.get("name") else ""
    return HubSource(raw["id"], raw["revision"], str(raw.get("endpoint") or ""), said)


def _s3(raw: dict[str, Any]) -> S3Source:
    bucket = str(raw.get("bucket", ""))
    if not BUCKET.fullmatch(bucket):
        raise UsageError(f"source.s3.bucket: {bucket!r}: no name of a bucket. Fix: the name alone, without s3://")
    secret = raw.get("credentialsSecret") or {}
    return S3Source(
        bucket,
        str(raw.get("prefix") or "").strip("/"),
        str(raw.get("region") or ""),
        str(raw.get("endpoint") or ""),
        f"Secret {secret['name']}" if secret.get("name") else "",
    )
