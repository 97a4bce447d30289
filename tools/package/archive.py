"""The chart's archive, the same bytes each time, and its provenance file."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

import yaml

from local_cluster.problem import Problem

EPOCH = 315532800
"""The first of January 1980, UTC: the oldest time that all archivers can write."""


def pack(chart: Path, folder: Path, helm: str) -> Path:
    """`helm package`, and its archive with files in the order of their names and without times and owners.

    Helm takes the files' own times, and subcharts in the order of a Go map.

    Raises:
        subprocess.CalledProcessError: helm failed.
    """
    with tempfile.TemporaryDirectory() as place:
        command = [helm, "package", str(chart), "--destination", place]
        subprocess.run(command, check=True, capture_output=True, text=True)
        (made,) = Path(place).iterdir()
        with tarfile.open(made) as read:
            files = {member.name: read.extractfile(member) for member in read.getmembers() if member.isfile()}
            contents = {name: file.read() for name, file in files.items() if file}
    target = folder / made.name
    target.write_bytes(_archive(contents))
    return target


def _archive(contents: dict[str, bytes]) -> bytes:
    # Helm reads the first Chart.yaml before anything else when it lists an archive.
    names = sorted(contents, key=lambda name: (not name.endswith("/Chart.yaml") or name.count("/") > 1, name))
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as written:
        for name in names:
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(contents[name]), 0o644
            about.mtime = int(os.environ.get("SOURCE_DATE_EPOCH") or EPOCH)
            written.addfile(about, io.BytesIO(contents[name]))
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def check_key(key: str) -> None:
    """Whether gpg can sign with it.

    Raises:
        Problem: it has no such secret key, or there is no gpg.
    """
    try:
        known = subprocess.run(
            ["gpg", "--batch", "--list-secret-keys", "--", key], check=False, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise Problem(f"KEY is {key!r}, and there is no gpg to sign with", "install gnupg, or leave KEY out") from error
    if known.returncode:
        raise Problem(
            f"KEY is {key!r}, and gpg has no such secret key",
            "name one of `gpg --list-secret-keys` (its address, name or fingerprint; GNUPGHOME says where they are), or leave KEY out",
        )


def sign(chart: Path, archive: Path, key: str) -> Path:
    """The provenance file of an archive: what `helm package --sign` writes, of these bytes.

    Args:
        key: name of a secret key in gpg's keyring (GNUPGHOME).

    Raises:
        subprocess.CalledProcessError: gpg failed.
    """
    about = (chart / "Chart.yaml").read_text()
    sums = yaml.safe_dump({"files": {archive.name: f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"}})
    command = [
        "gpg",
        "--batch",
        "--yes",
        "--local-user",
        key,
        "--digest-algo",
        "SHA512",
        "--clearsign",
        "--output",
        "-",
    ]
    signed = subprocess.run(command, input=f"{about}\n...\n{sums}", check=True, capture_output=True, text=True)
    provenance = archive.with_name(f"{archive.name}.prov")
    provenance.write_text(signed.stdout)
    return provenance
