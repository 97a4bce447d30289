"""Hugging Face, through its own library (proxies, redirects, retries and rate limits are the library's work).

Not by ``snapshot_download``: it takes file locks, which shared filesystems only pretend to give, and starts a file anew
after a kill. Instead the library's listing and its ranged, retrying GET, over files of our own.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import BinaryIO

from . import choose
from .errors import FetchError, Transient, plain
from .remote import Listing, RemoteFile
from .spec import HubSource, Job

# Before the import, which reads them: no telemetry, no token of a home directory, no progress bars.
os.environ.update(
    HF_HUB_DISABLE_TELEMETRY="1",
    HF_HUB_DISABLE_IMPLICIT_TOKEN="1",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    HF_HUB_DISABLE_UPDATE_CHECK="1",
    HF_HUB_DISABLE_XET="1",
)
os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", "30")

import httpx2
from huggingface_hub import HfApi, constants, errors, hf_hub_url
from huggingface_hub.file_download import http_get
from huggingface_hub.utils._headers import build_hf_headers

HUB = "https://huggingface.co"
LISTING_SECONDS = 30.0
# The library tells of each retry with whole URLs; what matters of it is in our own messages.
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
# Not 10 MiB: what has not been written is lost in a kill, and a slow line would show no progress for minutes.
constants.DOWNLOAD_CHUNK_SIZE = 512 << 10


class Hub:
    """One repository at one commit. ``token``: "" for none."""

    def __init__(self, job: Job, source: HubSource, token: str) -> None:
        self._job, self._source, self._token = job, source, token.strip()
        self._endpoint = source.endpoint.rstrip("/") or HUB

    @property
    def fixed_revision(self) -> str | None:
        """The commit."""
        return self._source.revision

    def listing(self) -> Listing:
        """All files that an engine needs; one request."""
        source = self._source
        with self._explained():
            api = HfApi(endpoint=self._endpoint, token=self._token or False)
            info = api.model_info(source.id, revision=source.revision, files_metadata=True, timeout=LISTING_SECONDS)
        if info.sha != source.revision:
            raise self._fault("revision", source.revision, f"the hub answered with commit {info.sha}", "check the hub")
        known = {f.rfilename: f for f in info.siblings or []}
        try:
            wanted = choose.needed(known)
        except choose.Unusable as err:
            raise self._fault(
                "id",
                source.id,
                f"{err} at commit {source.revision[:12]}",
                "choose a repository with config.json and safetensors",
            ) from None
        files = []
        for name in wanted:
            entry = known[name]
            if entry.size is None:
                raise self._fault("endpoint", self._endpoint, f"the hub tells no size of {name}", "check the hub")
            checksum = f"sha256:{entry.lfs.sha256}" if entry.lfs else f"git:{entry.blob_id}" if entry.blob_id else ""
            files.append(RemoteFile(name, entry.size, checksum))
            if entry.size > constants.MAX_HTTP_DOWNLOAD_SIZE:
                most = constants.MAX_HTTP_DOWNLOAD_SIZE / 1e9
                why = f"the hub gives no files above {most:g} GB by HTTP, and {name} has {entry.size / 1e9:.0f} GB"
                fix = "copy the model to a claim or bucket (source.claim, source.s3), or choose one in smaller shards"
                raise self._fault("id", source.id, why, fix)
        return Listing(source.revision, tuple(files))

    def read(self, file: RemoteFile, into: BinaryIO, offset: int) -> None:
        """See Remote."""
        url = hf_hub_url(self._source.id, file.name, revision=self._source.revision, endpoint=self._endpoint)
        with self._explained(file.name):
            http_get(
                url,
                into,
                resume_size=offset,
                # Compressed answers have no length and cannot be resumed.
                headers={**build_hf_headers(token=self._token or False), "Accept-Encoding": "identity"},
                expected_size=file.size,
                displayed_filename=file.name,
            )

    @contextlib.contextmanager
    def _explained(self, file: str = "") -> Iterator[None]:
        source = self._source
        try:
            yield
        except errors.GatedRepoError:
            raise self._denied("the model is gated") from None
        except errors.RevisionNotFoundError:
            raise self._fault(
                "revision",
                source.revision,
                f"{source.id} has no such commit",
                f"take one of {self._endpoint}/{source.id}/commits/main",
            ) from None
        except errors.EntryNotFoundError:
            raise Transient(f"{file} was listed, and is not found now") from None
        except errors.RepositoryNotFoundError as err:
            raise self._not_found(err.response.status_code) from None
        except errors.HfHubHTTPError as err:
            status = err.response.status_code if err.response is not None else 0
            if status in (401, 403):
                raise self._denied(f"{self._endpoint} answers {status}") from None
            if status in (400, 404, 405, 410, 451):
                raise self._fault(
                    "endpoint", self._endpoint, f"it answers {status} for {source.id}", "check id and endpoint"
                ) from None
            raise Transient(f"{self._endpoint} answers {status or plain(str(err))}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as err:
            proxy = _proxy(self._endpoint)
            raise Transient(
                f"no connection to {self._endpoint}{f' through the proxy {proxy}' if proxy else ''}: {str(err) or type(err).__name__}"
            ) from None
        except OSError as err:
            # http_get's "Consistency check failed" has no number; errors of the volume have.
            if err.errno is not None:
                raise
            raise Transient(f"{file}: the answer of {self._endpoint} ended early") from None

    def _not_found(self, status: int) -> FetchError:
        """The hub hides private models: to strangers it answers 401 or 404 as if there were none."""
        if status != 404:
            return self._denied(f"{self._endpoint} answers {status}: no such model, or a private one")
        who = f"{self._who()} may not see it" if self._token else "it is private and no token is given"
        why = f"{self._endpoint} has no such model, or {who}"
        return self._fault("id", self._source.id, why, "correct the id, or set tokenSecret to a token that may read it")

    def _who(self) -> str:
        return f"the token of {self._source.token_from or 'the environment'}" if self._token else "no token"

    def _denied(self, why: str) -> FetchError:
        page = f"{self._endpoint}/{self._source.id}"
        if not self._token:
            return self._fault(
                "tokenSecret", '""', f"{why}, and no token is given",
                f"accept the terms on {page}, make a read token, and name a Secret with it: tokenSecret: {{name: ..., key: token}}",
            )  # fmt: skip
        return self._fault(
            "tokenSecret", self._source.token_from or "HF_TOKEN", f"{why}; {self._who()} was refused for {self._source.id}",
            f"accept the terms on {page} with the token's account, and check that the token is valid and may read it",
        )  # fmt: skip

    def _fault(self, leaf: str, value: object, why: str, fix: str) -> FetchError:
        return FetchError(f"{self._job.key}.{leaf}", value, why, fix)


def _proxy(endpoint: str) -> str:
    """The proxy that the environment gives for this URL, without its password."""
    scheme = endpoint.partition(":")[0]
    for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY"):
        if os.environ.get(name):
            return os.environ[name].rpartition("@")[2]
    return ""
