"""podman as root with storage, state and networks of its own: nothing of another podman on the machine is touched."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from pathlib import Path

from ..run import output, run
from ..settings import CLUSTER, PLACES
from . import netns

NETWORK = "kind"


def environment() -> dict[str, str]:
    """The process environment that makes every podman, buildah and kind call use our own settings."""
    _write_settings()
    home = PLACES.engine
    return {
        **os.environ,
        "CONTAINERS_CONF": str(home / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
        "KIND_EXPERIMENTAL_PROVIDER": "podman",
        "BUILDAH_ISOLATION": "oci",
        "PATH": f"{home / 'wrap'}:{os.environ.get('PATH', '/usr/sbin:/usr/bin:/sbin:/bin')}",
    }


def _write_settings() -> None:
    home = PLACES.engine
    (home / "networks").mkdir(parents=True, exist_ok=True)
    (home / "wrap").mkdir(exist_ok=True)
    (home / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{home}/root"\nrunroot = "{home}/run"\n'
    )
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = Path("/proc/sys/kernel/pid_max").read_text().strip()
    # Limits: podman's own defaults (1048576) need CAP_SYS_RESOURCE, which small virtual machines lack.
    # runc: crun refuses machines with both control group versions mounted. cgroupfs: there may be no systemd.
    (home / "containers.conf").write_text(
        "[containers]\n"
        f'default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]\n'
        'cgroupns = "private"\n'
        "[engine]\n"
        'runtime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
        f'tmp_dir = "{home}/tmp"\n'
        f'[network]\nnetwork_backend = "netavark"\nnetwork_config_dir = "{home}/networks"\n'
    )
    # kind cannot pass a parent control group; without one, nodes would escape the memory limit of whoever starts them.
    real = shutil.which("podman", path="/usr/local/bin:/usr/bin:/bin") or "/usr/bin/podman"
    wrapper = home / "wrap" / "podman"
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = run ] || exec {real} "$@"\nshift\nexec {real} run {_parent_option()} "$@"\n'
    )
    wrapper.chmod(0o755)


def _parent_option() -> str:
    """`--cgroup-parent` below this process' own memory control group; empty on control groups v2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return f"--cgroup-parent={path.rstrip('/')}/{CLUSTER}"
    return ""


def podman(*arguments: str) -> list[str]:
    """A podman command line inside the cluster's network namespace; run it with `environment()`."""
    return netns.enter(["podman", *arguments])


def ensure_network() -> None:
    """The bridge network that kind looks for; kind's own would be dual-stack, which a kernel without IPv6 refuses."""
    env = environment()
    if output(podman("network", "ls", "-q", "-f", f"name=^{NETWORK}$"), env=env, check=False).strip() != NETWORK:
        run(podman("network", "create", "-d", "bridge", NETWORK), log="podman", env=env, fix="see the log")


def containers() -> list[str]:
    """Names of all containers in our own podman, running or not."""
    return output(podman("ps", "-a", "--format", "{{.Names}}"), env=environment(), check=False).split()


def remove_everything() -> None:
    """Remove containers, volumes and the network, also after every process of theirs was killed from outside.

    podman then still believes that they run: its first `rm` fails on a missing exit file, the next one works.
    """
    env = environment()
    for _ in range(4):
        if not containers():
            break
        output(podman("rm", "-f", "-v", "-t", "0", "-a"), env=env, check=False, timeout_s=120)
    output(podman("volume", "prune", "-f"), env=env, check=False)
    # Builds that were killed leave working containers of gigabytes, which podman's own list does not show.
    output(["buildah", "rm", "-a"], env=env, check=False)
    output(podman("network", "rm", "-f", NETWORK), env=env, check=False)
    _remove_dns_leftovers()
    _remove_control_groups()


def _remove_dns_leftovers() -> None:
    state = Path("/run/containers/networks/aardvark-dns")
    (state / NETWORK).unlink(missing_ok=True)
    pid_file = state / "aardvark.pid"
    pid = pid_file.read_text().strip() if pid_file.exists() else ""
    if pid and not Path(f"/proc/{pid}").exists():
        pid_file.unlink(missing_ok=True)


def _remove_control_groups() -> None:
    """Empty control groups that killed containers left; rmdir refuses any that is in use."""
    own = next((o.split("=", 1)[1] for o in [_parent_option()] if o), "")
    for controller in Path("/sys/fs/cgroup").glob("*"):
        for group in (controller / own.lstrip("/") if own else None, controller / "libpod_parent"):
            if group and group.is_dir():
                for directory, _, _ in os.walk(group, topdown=False):
                    with contextlib.suppress(OSError):
                        Path(directory).rmdir()
