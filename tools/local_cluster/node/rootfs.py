"""The node's root filesystem: Debian packages, prepared the way kind prepares its own base image."""

from __future__ import annotations

import hashlib
import platform
import re
from pathlib import Path

from ..host import packages
from ..problem import Problem
from ..progress import phase
from ..run import output, run
from ..settings import PLACES

PACKAGES = tuple(
    """
    systemd dbus runc iptables nftables conntrack iproute2 ethtool ebtables ipset socat util-linux mount kmod
    libseccomp2 procps jq curl ca-certificates e2fsprogs fuse3 fuse-overlayfs hostname findutils iputils-ping
    libnss-myhostname
    """.split()
)

# What kind's own base image does after installing its packages: no udev, no consoles, no tmpfiles run; journald must
# not read the kernel's log; only the services below start.
_PREPARE = r"""
set -e
cd "$1"
find lib/systemd/system/sysinit.target.wants -name systemd-tmpfiles-setup.service -delete
rm -f lib/systemd/system/multi-user.target.wants/* lib/systemd/system/local-fs.target.wants/* \
  lib/systemd/system/basic.target.wants/* lib/systemd/system/sockets.target.wants/*udev* lib/systemd/system/sockets.target.wants/*initctl*
find etc/systemd/system -path '*.wants/*' -delete
echo ReadKMsg=no >> etc/systemd/journald.conf
ln -sf /usr/lib/systemd/systemd sbin/init
ln -sf /dev/null etc/systemd/system/systemd-binfmt.service
mkdir -p etc/systemd/system/multi-user.target.wants etc/kubernetes/manifests opt/cni/bin
for unit in kubelet containerd undo-mount-hacks; do
  ln -sf /etc/systemd/system/$unit.service etc/systemd/system/multi-user.target.wants/$unit.service
done
rm -rf var/cache/apt/archives/*.deb var/lib/apt/lists/* usr/share/doc usr/share/man usr/share/locale usr/share/info
"""


def debian_sources() -> tuple[str, list[str]]:
    """The machine's own release name and package sources (`deb` lines of the release itself, without updates).

    Raises:
        Problem: apt has no package lists.
    """
    release = {
        key: value.strip('"')
        for key, value in re.findall(r"^(\w+)=(.*)$", Path("/etc/os-release").read_text(), re.MULTILINE)
    }
    suite = release.get("VERSION_CODENAME", "")
    targets = output(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]
    )
    rows = {tuple(line.split()) for line in targets.splitlines() if len(line.split()) == 3}
    wanted = sorted(row for row in rows if row[1] == suite and row[2] in ("main", "universe"))
    if not wanted:
        raise Problem(f"apt knows no packages of {suite or 'this release'}", "run `apt-get update`, then this again")
    return suite, [f"deb {uri} {name} {component}" for uri, name, component in wanted]


def build() -> Path:
    """The root filesystem as a tar archive, from the cache when its recipe has not changed."""
    suite, sources = debian_sources()
    recipe = "\n".join([suite, platform.machine(), " ".join(PACKAGES), _PREPARE])
    target = PLACES.cache / f"node-rootfs-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.tar"
    if target.exists():
        return target
    packages.ensure(packages.ROOTFS, "makes the nodes' root filesystem")
    with phase("node root filesystem", f"{len(PACKAGES)} Debian packages of {suite} and what they need"):
        prepare = PLACES.cache / "node-prepare.sh"
        prepare.write_text("#!/bin/sh" + _PREPARE)
        prepare.chmod(0o755)
        partial = target.with_suffix(".partial.tar")
        run(
            ["mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}", "--dpkgopt=force-unsafe-io",
             "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
             "--dpkgopt=path-exclude=/usr/share/locale/*", f"--customize-hook={prepare}", suite, partial, *sources],
            log="rootfs", fix="check the machine's Debian mirror", timeout_s=1200,
        )  # fmt: skip
        partial.rename(target)
    return target
