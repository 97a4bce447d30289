"""dist/: the archive installs what the folder does, the same bytes each time; lists and bills name what there is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from chart.cases import CASES
from chart.helm import CHART, REPO, Helm
from package import archive, images, sbom
from package.__main__ import main, write
from property.checks import containers

SITE = f"""\
router: {{image: {{repository: mirror.example/router, tag: v1}}}}
curvine: {{image: {{digest: "sha256:{"a" * 64}"}}}}
"""


@pytest.fixture(scope="module")
def dist(helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package") / "dist"
    write(folder, helm.path)
    return folder


def _tgz(folder: Path) -> Path:
    (found,) = folder.glob("*.tgz")
    return found


def test_the_same_bytes_each_time(helm: Helm, helm_other: Helm, dist: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tiered-kv-cache"
    shutil.copytree(CHART, copy)
    for file in copy.rglob("*"):
        os.utime(file, (1, 1))
    for each in (helm, helm_other):
        folder = tmp_path / each.path.replace("/", "_")
        folder.mkdir()
        assert archive.pack(copy, folder, each.path).read_bytes() == _tgz(dist).read_bytes()
    again = tmp_path / "again"
    write(again, helm.path)
    for file in dist.iterdir():
        assert (again / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize("case", ["local", "own-pool", "l2-patch-by-webhook"])
def test_the_archive_renders_what_the_folder_renders(helm: Helm, helm_other: Helm, dist: Path, case: str) -> None:
    given = json.dumps(CASES[case])
    for each in (helm, helm_other):
        command = [each.path, "template", "demo", str(_tgz(dist)), "-n", "tiered-kv-cache", "-f", "-"]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
        assert done.stdout == each.run("-f", "-", given=given).text


def test_checksums(dist: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist, check=True, capture_output=True)
    named = {line.split("  ")[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    assert named == {file.name for file in dist.iterdir()} - {"SHA256SUMS"}


@pytest.mark.parametrize("case", CASES)
def test_every_rendered_image_is_listed(helm: Helm, dist: Path, case: str) -> None:
    """But for those that the case itself names."""
    listed = {row["rendered"] for row in json.loads((dist / "images.json").read_text())["images"]}
    given = json.dumps(CASES[case])
    rendered = {container["image"] for container in containers(helm.run("-f", "-", given=given).objects)}
    own = {image for image in rendered if "@sha256:" + "a" * 64 in image or image.rsplit(":", 1)[0] in given}
    assert rendered - own <= listed


def test_images_of_a_site(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(SITE)
    text = images.as_text(images.of_chart(CHART, (file,)))
    assert "mirror.example/router:v1\n" in text
    assert "ghcr.io/curvineio/curvine:v0.4.1@sha256:aaaa" in text
    assert "localhost/tiered-kv-cache/router" not in text


def test_bills_are_valid_and_hold_every_package(dist: Path) -> None:
    for file in dist.glob("*.cdx.json"):
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text()) is None, file
    for name in ("hooks", "router", "engine-cpu"):
        lock = (REPO / "images" / name / "requirements.lock").read_text()
        wanted = {line.split(" ")[0] for line in lock.splitlines() if line[:1].isalnum() and "==" in line}
        bill = json.loads((dist / f"{name}.cdx.json").read_text())
        assert wanted <= {part["bom-ref"] for part in bill["components"]}
        assert all(part["hashes"] for part in bill["components"])
    chart = json.loads((dist / "tiered-kv-cache.cdx.json").read_text())
    listed = (dist / "images.txt").read_text().split()
    assert set(listed) <= {part["bom-ref"] for part in chart["components"]}


LOCK = f"""\
# comment
a-b==1.2 \\
    --hash=sha256:{"1" * 64} \\
    --hash=sha256:{"0" * 64}
    # via c
c==2 ; python_version < "3.12" \\
    --hash=sha256:{"2" * 64}
"""


def test_packages_of_a_lock() -> None:
    assert list(sbom.packages(LOCK)) == [("a-b", "1.2", ["0" * 64, "1" * 64]), ("c", "2", ["2" * 64])]


@pytest.mark.skipif(not shutil.which("gpg"), reason="no gpg, which signs")
def test_helm_verifies_what_was_signed(
    helm: Helm, helm_other: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "g"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    quick = [
        "gpg",
        "--batch",
        "--passphrase",
        "",
        "--quick-generate-key",
        "chart@example.com",
        "rsa3072",
        "sign",
        "never",
    ]
    subprocess.run(quick, check=True, capture_output=True)
    write(tmp_path / "dist", helm.path, "chart@example.com")
    ring = tmp_path / "ring.gpg"
    ring.write_bytes(subprocess.run(["gpg", "--batch", "--export"], check=True, capture_output=True).stdout)
    tgz = _tgz(tmp_path / "dist")
    for each in (helm, helm_other):
        subprocess.run([each.path, "verify", "--keyring", str(ring), str(tgz)], check=True, capture_output=True)
    tgz.write_bytes(tgz.read_bytes() + b" ")
    done = subprocess.run([helm.path, "verify", "--keyring", str(ring), str(tgz)], check=False, capture_output=True)
    assert done.returncode
    subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)


@pytest.mark.skipif(not shutil.which("gpg"), reason="no gpg, which signs")
def test_an_unknown_key_is_named_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "kept").touch()
    assert main(["--into", str(dist), "--key", "nobody@example.com"]) == 1
    told = capsys.readouterr().err
    assert "KEY is 'nobody@example.com'" in told
    assert "fix: name one of" in told
    assert "gpg:" not in told
    assert (dist / "kept").exists()
    subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)
