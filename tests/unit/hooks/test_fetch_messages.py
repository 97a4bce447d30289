"""What a person reads when a model cannot be fetched: one message with key, value, reason and fix, and no secret in it."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from huggingface_hub.utils._http import close_session

from emulators.hub import COMMIT, Hub
from emulators.s3 import S3
from ports import free_port
from tiered_kv_cache.fetch import hub as hub_module
from tiered_kv_cache.fetch import run as run_module
from tiered_kv_cache.fetch import spec
from tiered_kv_cache.fetch.errors import FetchError
from tiered_kv_cache.fetch.progress import Progress
from tiered_kv_cache.fetch.run import Fetch, Fetched
from tiered_kv_cache.fetch.s3 import S3 as S3Remote
from tiered_kv_cache.findings import UsageError

from .fetching import NEEDED, Pod, contents, hub_source, model_files, s3_source

TOKEN = "hf_notAToken"
SECRET = {"tokenSecret": {"name": "hub-reader", "key": "token"}}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "BACK_OFF_SECONDS", 0.01)
    # The library's own pauses between tries.
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    for name in list(os.environ):
        if "proxy" in name.lower() or name.startswith("AWS_"):
            monkeypatch.delenv(name)


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(model_files(1 << 20)).start()
    yield made
    made.stop()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-key")
    made = S3({f"tiny/{name}": content for name, content in model_files(1 << 20).items()}).start()
    yield made
    made.stop()


def fetch(store: Path, raw: dict[str, Any], token: str = "", **change: Any) -> tuple[Fetched | str, list[str]]:
    """Fetch in this process; the model or the message, and the lines on the way."""
    source = spec.source(json.dumps(raw))
    job = spec.Job("tiny", source, store, "uid", "pod-uid", lease_seconds=5, **change)
    remote: Any = hub_module.Hub(job, source, token) if isinstance(source, spec.HubSource) else S3Remote(job, source)
    lines: list[str] = []
    try:
        return Fetch(job, remote, Progress(lines.append)).run(), lines
    except FetchError as err:
        text = str(err)
        assert ". Fix: " in text
        assert "\n" not in text
        for secret in (TOKEN, "secret-key", "secret-signature"):
            assert secret not in text + "".join(lines)
        return text, lines


def message(store: Path, raw: dict[str, Any], token: str = "", **change: Any) -> str:
    found, _ = fetch(store, raw, token, **change)
    assert isinstance(found, str), found
    return found


def fetched(store: Path, raw: dict[str, Any], token: str = "") -> tuple[Fetched, list[str]]:
    found, lines = fetch(store, raw, token)
    assert isinstance(found, Fetched), found
    return found, lines


def test_no_such_commit(hub: Hub, tmp_path: Path) -> None:
    text = message(tmp_path, hub_source(hub, revision="f" * 40))
    assert text.startswith(f"models.tiny.source.huggingFace.revision: {'f' * 40}: org/model has no such commit. Fix: ")
    assert f"{hub.url}/org/model/commits/main" in text


def test_no_such_model(hub: Hub, tmp_path: Path) -> None:
    text = message(tmp_path, hub_source(hub, id="org/other"))
    assert text.startswith("models.tiny.source.huggingFace.id: org/other: ")
    assert "has no such model, or it is private and no token is given" in text
    text = message(tmp_path, hub_source(hub, id="org/other", **SECRET), TOKEN)
    assert "or the token of Secret hub-reader (key token) may not see it" in text


def test_token_is_missing(hub: Hub, tmp_path: Path) -> None:
    hub.faults.token = TOKEN
    text = message(tmp_path, hub_source(hub))
    assert text.startswith('models.tiny.source.huggingFace.tokenSecret: "": ')
    assert "answers 401, and no token is given" in text
    assert "name a Secret with it: tokenSecret: {name: ..., key: token}" in text


def test_token_is_refused_and_its_secret_named(hub: Hub, tmp_path: Path) -> None:
    hub.faults.token = "another"
    text = message(tmp_path, hub_source(hub, **SECRET), TOKEN)
    assert text.startswith("models.tiny.source.huggingFace.tokenSecret: Secret hub-reader (key token): ")
    assert "the token of Secret hub-reader (key token) was refused for org/model" in text


def test_terms_not_accepted(hub: Hub, tmp_path: Path) -> None:
    hub.faults.gated = True
    text = message(tmp_path, hub_source(hub, **SECRET), TOKEN)
    assert "the model is gated; the token of Secret hub-reader (key token) was refused" in text
    assert f"accept the terms on {hub.url}/org/model with the token's account" in text
    assert "the model is gated, and no token is given" in message(tmp_path, hub_source(hub))


def test_token_works_and_goes_to_the_hub_only(hub: Hub, tmp_path: Path) -> None:
    hub.faults.token = TOKEN
    found, _ = fetched(tmp_path, hub_source(hub, **SECRET), f"{TOKEN}\n")
    assert contents(found.path).keys() == set(NEEDED)
    assert hub.cdn_authorization
    assert set(hub.cdn_authorization) == {""}


def test_another_commit_in_the_answer(hub: Hub, tmp_path: Path) -> None:
    hub.faults.sha = "e" * 40
    assert f"the hub answered with commit {'e' * 40}" in message(tmp_path, hub_source(hub))


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"README.md": b""}, "there is no config.json"),
        ({"config.json": b"{}"}, "there are no *.safetensors"),
        ({"config.json": b"{}", "model-q4.gguf": b""}, "there are no *.safetensors, only .gguf"),
    ],
)
def test_nothing_that_an_engine_can_load(hub: Hub, tmp_path: Path, files: dict[str, bytes], why: str) -> None:
    hub.files = files
    assert f"{why} at commit {COMMIT[:12]}. Fix: choose a repository" in message(tmp_path, hub_source(hub))


def test_files_too_large_for_the_hub(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.MAX_HTTP_DOWNLOAD_SIZE", 1000)
    assert "the hub gives no files above 1e-06 GB by HTTP" in message(tmp_path, hub_source(hub))


def test_wrong_bytes_once(hub: Hub, tmp_path: Path) -> None:
    hub.faults.wrong_bytes["model-00001-of-00002.safetensors"] = 1
    found, lines = fetched(tmp_path, hub_source(hub))
    assert contents(found.path) == {name: hub.files[name] for name in NEEDED}
    assert [line for line in lines if "its sha256 is" in line and "downloading it again" in line]


@pytest.mark.parametrize("name", ["model-00001-of-00002.safetensors", "config.json"])
def test_wrong_bytes_always(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.faults.wrong_bytes[name] = 99
    text = message(tmp_path, hub_source(hub))
    assert text.startswith(f"checksum of {name}: ")
    assert "again after another download. Fix: look at what stands between" in text
    assert not list(tmp_path.rglob("hf/*/0*"))


def test_a_server_with_a_bad_moment(hub: Hub, tmp_path: Path) -> None:
    hub.faults.fail_first = 3
    fetched(tmp_path, hub_source(hub))


def test_a_cut_connection_goes_on_where_it_was(hub: Hub, tmp_path: Path) -> None:
    name = "model-00001-of-00002.safetensors"
    hub.faults.cut_after[name] = 800 << 10
    found, _ = fetched(tmp_path, hub_source(hub))
    assert contents(found.path)[name] == hub.files[name]
    assert hub.sent[name] < 2 * len(hub.files[name])


def test_a_server_that_ignores_ranges(hub: Hub, tmp_path: Path) -> None:
    name = "model-00001-of-00002.safetensors"
    hub.faults.ignore_range = True
    hub.faults.cut_after[name] = 800 << 10
    found, _ = fetched(tmp_path, hub_source(hub))
    assert contents(found.path)[name] == hub.files[name]


def test_no_network(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    text = message(tmp_path, {"huggingFace": {"id": "org/model", "revision": COMMIT, "endpoint": url}})
    assert text.startswith(f"models.tiny.source.huggingFace: unreachable: no connection to {url}: ")
    assert "5 tries. Fix: check DNS, egress NetworkPolicies and the proxy (HTTPS_PROXY in engine.env)" in text


def test_no_proxy_there_is_named_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:hf_notAToken@127.0.0.1:{port}")
    raw = {"huggingFace": {"id": "org/model", "revision": COMMIT, "endpoint": "http://hub.invalid"}}
    close_session()
    try:
        assert f"no connection to http://hub.invalid through the proxy 127.0.0.1:{port}: " in message(tmp_path, raw)
    finally:
        close_session()


def test_no_network_in_s3(tmp_path: Path, bucket: S3) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    text = message(tmp_path, s3_source(bucket, endpoint=url))
    assert text.startswith(f"models.tiny.source.s3: unreachable: {url}: HTTP error: ")


def test_keys_are_refused(bucket: S3, tmp_path: Path) -> None:
    bucket.faults.access_key = "other"
    text = message(tmp_path, s3_source(bucket, credentialsSecret={"name": "reader"}))
    assert text.startswith("models.tiny.source.s3.credentialsSecret: Secret reader: ")
    assert (
        "Secret reader may not list s3://models/tiny (AccessDenied). Fix: allow s3:ListBucket and s3:GetObject" in text
    )
    assert "the Pod's own role may not list s3://models/tiny" in message(tmp_path, s3_source(bucket))


def test_no_such_bucket_or_folder(bucket: S3, tmp_path: Path) -> None:
    text = message(tmp_path, s3_source(bucket, bucket="others"))
    assert (
        text
        == f"models.tiny.source.s3.bucket: others: {bucket.url} has no such bucket. Fix: correct bucket, region or endpoint"
    )
    # A prefix is a folder: "tin" does not find tiny.
    text = message(tmp_path, s3_source(bucket, prefix="tin"))
    assert text.startswith("models.tiny.source.s3.prefix: tin: bucket models has nothing below it. Fix: ")
    bucket.files["empty/README.md"] = b""
    assert "there is no config.json" in message(tmp_path, s3_source(bucket, prefix="empty/"))


def test_wrong_bytes_from_a_bucket(bucket: S3, tmp_path: Path) -> None:
    key = "tiny/model-00001-of-00002.safetensors"
    bucket.faults.wrong_bytes[key] = 1
    found, lines = fetched(tmp_path, s3_source(bucket))
    assert contents(found.path)["model-00001-of-00002.safetensors"] == bucket.files[key]
    assert any("its md5 is" in line for line in lines)


@pytest.mark.parametrize("etag", ["0" * 32, "0123456789abcdef0123456789abcdef-7"])
def test_an_etag_that_is_no_md5(bucket: S3, tmp_path: Path, etag: str) -> None:
    """With a KMS key, or uploaded in parts."""
    bucket.faults.etags["tiny/model-00001-of-00002.safetensors"] = etag
    found, lines = fetched(tmp_path, s3_source(bucket))
    assert contents(found.path) == {name: bucket.files[f"tiny/{name}"] for name in NEEDED}
    assert any("its etag is no MD5; two downloads were equal" in line for line in lines) == ("-" not in etag)


def test_a_bucket_with_a_bad_moment(bucket: S3, tmp_path: Path) -> None:
    bucket.faults.fail_first = 2
    fetched(tmp_path, s3_source(bucket))


def test_the_store_is_too_small(hub: Hub, tmp_path: Path) -> None:
    text = message(tmp_path, hub_source(hub), store_type="emptyDir", size_limit=1 << 20)
    assert text == "modelStore.size: 1 MiB: the model has 2 MiB. Fix: set it to 2 MiB or more"


@pytest.mark.parametrize(
    ("store_type", "key"),
    [
        ("emptyDir", "modelStore.size"),
        ("existingClaim", "modelStore.claimName"),
        ("hostPath", "modelStore.hostPath.path"),
    ],
)
def test_the_store_is_full_from_the_start(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store_type: str, key: str
) -> None:
    real = os.statvfs(tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((*real[:4], 1, *real[5:10])))
    text = message(tmp_path, hub_source(hub), store_type=store_type)
    assert text.startswith(f"{key}: {store_type} is full: the model needs 2 MiB more, and ")
    assert hub.asked["cdn"] == 0


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, "modelStore.claimName: existingClaim is full: No space left on device while writing"),
        (errno.EDQUOT, "is full: Disk quota exceeded while writing"),
        (errno.EACCES, "Permission denied. Fix: let uid "),
        (errno.EROFS, "Read-only file system. Fix: mount the model store read-write"),
        (errno.EIO, "Input/output error. Fix: mend the volume"),
    ],
)
def test_errors_of_the_store(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: str
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        assert expected in message(tmp_path, hub_source(hub), store_type="existingClaim")
    # The claim was given back, and what was there is used.
    fetched(tmp_path, hub_source(hub))


@pytest.mark.skipif(os.getuid() == 0 and not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_really_full_disk(hub: Hub, tmp_path: Path) -> None:
    """A file of the work directory that leads to /dev/full, where each write fails as on a full disk."""
    from tiered_kv_cache.fetch import work  # noqa: PLC0415

    with pytest.raises(OSError, match="No space left") as err, Path("/dev/full").open("wb", buffering=0) as raw:
        work._Sink(raw, lambda: None, Progress(print)).write(b"x")
    assert err.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "the environment has no TKC_SOURCE"),
        ("{", "is not JSON"),
        ("[]", "must be"),
        ('{"ftp": {}}', "'ftp' cannot be fetched"),
        ('{"huggingFace": {"id": "x", "revision": "main"}}', "no commit of 40 hex digits"),
        ('{"huggingFace": {"id": "../x", "revision": "main"}}', "no <organisation>/<name>"),
        ('{"huggingFace": {"id": "a/..", "revision": "main"}}', "no <organisation>/<name>"),
        ('{"s3": {"bucket": "s3://x"}}', "no name of a bucket"),
    ],
)
def test_bad_sources(text: str | None, part: str) -> None:
    with pytest.raises(UsageError, match=r"Fix: ") as err:
        spec.source(text)
    assert part in str(err.value)


def test_message_and_exit_code_of_the_container(hub: Hub, tmp_path: Path) -> None:
    done = Pod(tmp_path / "store", hub_source(hub, revision="f" * 40), "a").run()
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith("fetch: models.tiny.source.huggingFace.revision: ")
    done = Pod(tmp_path / "store", {"ftp": {}}, "a").run()
    assert done.code == 2


class Proxy:
    """A plain HTTP proxy that knows one name."""

    def __init__(self, target: str) -> None:
        self.seen: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.seen.append(self.path)
                url = self.path.replace("http://model.invalid", target)
                wanted = {k: v for k, v in self.headers.items() if k in ("Authorization", "Range", "If-Match")}
                answer = build_opener(ProxyHandler({})).open(Request(url, headers=wanted))
                body = answer.read()
                self.send_response(answer.status)
                for key in ("Content-Type", "ETag", "Last-Modified", "Content-Range"):
                    if answer.headers.get(key):
                        self.send_header(key, answer.headers[key])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy"])
@pytest.mark.parametrize("kind", ["huggingFace", "s3"])
def test_downloads_go_through_the_proxy(hub: Hub, bucket: S3, tmp_path: Path, kind: str, name: str) -> None:
    target = hub.url if kind == "huggingFace" else bucket.url
    raw = (
        hub_source(hub, endpoint="http://model.invalid")
        if kind == "huggingFace"
        else s3_source(bucket, endpoint="http://model.invalid")
    )
    hub.files = {k: v for k, v in hub.files.items() if len(v) < (1 << 20)} | {"model.safetensors": b"x" * 1000}
    proxy = Proxy(target)
    try:
        done = Pod(tmp_path / "store", raw, "a", env={name: proxy.url}).run()
        assert (done.code, done.err) == (0, "")
        assert proxy.seen
        proxy.seen.clear()
        # NO_PROXY is honoured: the name is then looked up, and there is none.
        excluded = {name: proxy.url, "NO_PROXY": "model.invalid", "no_proxy": "model.invalid"}
        done = Pod(tmp_path / "other", raw, "a", ("--deadline", "2"), env=excluded).run()
        assert done.code == 1
        assert proxy.seen == []
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
