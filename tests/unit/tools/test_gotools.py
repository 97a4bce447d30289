"""The programs that the tools build are the ones that tools/go pins."""

from __future__ import annotations

import re

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
