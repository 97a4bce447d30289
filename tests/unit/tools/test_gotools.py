"""The programs that the tools build are the ones that tools/go pins."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cluster.host import gotools


def test_every_program_is_pinned_and_every_pin_is_used() -> None:
    pinned = set(re.findall(r'_ "([^"]+)"', (gotools.MODULE / "tools.go").read_text()))
    built = {package for package in {**gotools.NODE, **gotools.CLI}.values() if not package.startswith("./")}
    assert built == pinned


def test_own_programs_exist() -> None:
    own = [package for package in {**gotools.NODE, **gotools.CLI}.values() if package.startswith("./")]
    assert own
    assert all((gotools.MODULE / package / "main.go").is_file() for package in own)


def test_file_names_of_built_programs() -> None:
    assert gotools.built_name("go.etcd.io/etcd/server/v3") == "server"
    assert gotools.built_name("github.com/containerd/containerd/v2/cmd/ctr") == "ctr"
    assert gotools.built_name("./kube") == "kube"


def test_helm_from_path_is_taken_only_when_it_fits() -> None:
    assert gotools.fits("helm", "v3.14.0+g1")
    assert gotools.fits("helm", "v4.2.4")
    assert not gotools.fits("helm", "v3.13.3")
    assert not gotools.fits("helm", "garbage")
    assert not gotools.fits("kind", "kind v0.1.0 go1.20")


def test_who_comes_second_waits_for_the_build_and_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def build(_go: str, batch: dict[str, str], target: Path, _module: Path) -> None:
        time.sleep(0.2)
        built.extend(batch)
        for name in batch:
            (target / name).touch()

    monkeypatch.setattr(gotools, "folder", lambda _module: tmp_path / "bin")
    monkeypatch.setattr(gotools, "toolchain", lambda: "go")
    monkeypatch.setattr(gotools, "_build", build)
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(lambda _: gotools.ensure({"kind": gotools.CLI["kind"]}), range(4)))
    assert built == ["kind"]
    assert set(folders) == {tmp_path / "bin"}
