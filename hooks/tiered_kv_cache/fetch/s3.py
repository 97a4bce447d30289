"""S3 and what speaks like it, through obstore: small, with the role of the Pod (IRSA, Pod Identity), proxies and retries.

A bucket has no commits: the names, sizes and etags of the folder's files are its revision, and each GET asks for the
listed etag.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, BinaryIO

import obstore
from obstore import exceptions
from obstore.store import S3Store

from . import choose
from .errors import Changed, FetchError, Transient, plain
from .remote import Listing, RemoteFile
from .spec import Job, S3Source

CHUNK_BYTES = 512 << 10
MD5 = re.compile(r"[0-9a-f]{32}")
ELSEWHERE = frozenset(
    {"PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
BAD_KEYS = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"}
)


class S3:
    """One folder of a bucket. Credentials come from the environment: keys of a Secret, or the Pod's role."""

    def __init__(self, job: Job, source: S3Source) -> None:
        self._job, self._source = job, source
        config: dict[str, Any] = {"region": source.region or "us-east-1"}
        if source.endpoint:
            # One endpoint serves all buckets by path; names of buckets need no DNS there.
            config |= {"endpoint": source.endpoint.rstrip("/"), "virtual_hosted_style_request": False}
        options: dict[str, Any] = {
            "allow_http": source.endpoint.startswith("http://"),
            "timeout": timedelta(hours=12),
            "read_timeout": timedelta(seconds=60),
        }
        retry: dict[str, Any] = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}
        self._store = S3Store(source.bucket, config=config, client_options=options, retry_config=retry)  # type: ignore[arg-type]

    @property
    def fixed_revision(self) -> str | None:
        """None: only the listing tells."""
        return None

    def listing(self) -> Listing:
        """All files that an engine needs, and the hash of their names, sizes and etags."""
        prefix = self._source.prefix
        found: dict[str, RemoteFile] = {}
        with self._explained():
            for batch in obstore.list(self._store, prefix or None, chunk_size=1000):
                for entry in batch:
                    name = entry["path"][len(prefix) :].lstrip("/")
                    etag = entry["e_tag"] or ""
                    plain_etag = etag.strip('"')
                    checksum = f"md5:{plain_etag}" if MD5.fullmatch(plain_etag) else ""
                    found[name] = RemoteFile(name, entry["size"], checksum, certain=False, etag=etag)
        if not found:
            raise self._fault(
                "prefix",
                prefix,
                f"bucket {self._source.bucket} has nothing below it",
                "name the folder that holds config.json",
            )
        try:
            files = [found[name] for name in choose.needed(found)]
        except choose.Unusable as err:
            raise self._fault(
                "prefix", prefix, str(err), "name the folder that holds config.json and the safetensors"
            ) from None
        text = "".join(f"{f.name}\n{f.size}\n{f.etag}\n" for f in files)
        return Listing(hashlib.sha256(text.encode()).hexdigest()[:40], tuple(files))

    def read(self, file: RemoteFile, into: BinaryIO, offset: int) -> None:
        """See Remote."""
        if offset >= file.size:
            return
        path = f"{self._source.prefix}/{file.name}".lstrip("/")
        options: dict[str, Any] = {"range": {"offset": offset}} if offset else {}
        if file.etag:
            options["if_match"] = file.etag
        with self._explained(file.name):
            for chunk in obstore.get(self._store, path, options=options).stream(min_chunk_size=CHUNK_BYTES):  # type: ignore[arg-type]
                into.write(memoryview(chunk))

    @contextlib.contextmanager
    def _explained(self, file: str = "") -> Iterator[None]:
        try:
            yield
        except exceptions.PreconditionError:
            raise Changed(f"{file} was replaced in the bucket") from None
        except exceptions.NotFoundError:
            if file:
                raise Changed(f"{file} was deleted from the bucket") from None
            raise self._no_bucket() from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as err:
            raise self._denied(file, _Answer(err)) from None
        except exceptions.BaseError as err:
            # A listing's refusals are all of one class; only their text tells them apart.
            raise self._refused(file, _Answer(err)) from None

    def _refused(self, file: str, answer: _Answer) -> Exception:
        source = self._source
        if not source.credentials_from and answer.about_identity:
            return self._fault(
                "credentialsSecret", '""', f"the Pod has neither keys nor a role: {answer.reason}",
                "name a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the engines' ServiceAccount a role",
            )  # fmt: skip
        if answer.code in ELSEWHERE or answer.status in (301, 307):
            why = f"bucket {source.bucket} is in another region"
            return self._fault("region", source.region or '""', why, "set the bucket's region")
        if answer.status in (401, 403) or answer.code in BAD_KEYS:
            return self._denied(file, answer)
        if answer.status == 404:
            return self._no_bucket()
        return Transient(f"{source.endpoint or 's3'}: {answer.reason}")

    def _denied(self, file: str, answer: _Answer) -> FetchError:
        source = self._source
        who = source.credentials_from or "the Pod's own role"
        return self._fault(
            "credentialsSecret" if source.credentials_from else "bucket",
            source.credentials_from or source.bucket,
            f"{who} may not {'read' if file else 'list'} s3://{source.bucket}/{source.prefix} ({answer.code or answer.status})",
            "allow s3:ListBucket and s3:GetObject (with a KMS key: kms:Decrypt) for it, and check the keys and the region",
        )

    def _no_bucket(self) -> FetchError:
        where = self._source.endpoint or f"region {self._source.region or 'us-east-1'}"
        return self._fault(
            "bucket", self._source.bucket, f"{where} has no such bucket", "correct bucket, region or endpoint"
        )

    def _fault(self, leaf: str, value: object, why: str, fix: str) -> FetchError:
        return FetchError(f"{self._job.key}.{leaf}", value, why, fix)


class _Answer:
    """What an error's text says: the HTTP status (0: no answer), S3's code, and the reason in short."""

    def __init__(self, err: Exception) -> None:
        text = str(err).split("\n\nDebug source")[0]
        status, code = re.search(r"status code: (\d+)", text), re.search(r"<Code>(\w+)</Code>", text)
        self.status = int(status[1]) if status else 0
        self.code = code[1] if code else ""
        # The credentials of a role come from addresses of the link, or from the token service.
        self.about_identity = any(word in text for word in ("169.254.", "fd00:ec2", "Error performing POST", "token"))
        said = " ".join(part for part in (str(self.status or ""), self.code) if part)
        self.reason = plain(said or text.rpartition(" - ")[2] or text)[:300]
