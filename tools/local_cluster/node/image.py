"""The node image, and the archive of component images that every node starts with."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from .. import cache
from ..host import gotools
from ..progress import phase
from ..run import output, run
from ..settings import KUBERNETES_VERSION, PLACES
from . import manifests, oci, rootfs

CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE_PROGRAMS = ("kubelet", "kubectl", "kubeadm")
CNI_PLUGINS = ("host-local", "bridge", "loopback", "ptp", "portmap")
KUBE_ROUTER_IMAGE = "localhost/kube-router:tkc"


@dataclass(frozen=True)
class NodeImage:
    """What the cluster starts from.

    Args:
        name: reference of the node image.
        archive: OCI archive of it, to be loaded into the container engine.
        components: OCI archive of the images of Kubernetes' own Pods, to be put into the nodes' image store.
        programs: folder of the programs (containerd among them) that fill that store.
    """

    name: str
    archive: Path
    components: Path
    programs: Path


def build() -> NodeImage:
    """Build the node image and the component images, or take them from the cache."""
    programs = gotools.ensure(gotools.NODE)
    base = rootfs.build()
    key = hashlib.sha256(f"{programs.name} {base.name} {Path(__file__).read_text()}".encode()).hexdigest()[:12]
    folder = PLACES.cache / f"node-image-{key}"
    image = NodeImage(
        f"localhost/tkc-node:{KUBERNETES_VERSION}-{key}", folder / "node.tar", folder / "components.tar", programs
    )
    if (folder / "done").exists():
        cache.use(folder)
        return image
    with phase("node image", "root filesystem, kind's own files and the programs"):
        scratch = folder / "scratch"
        shutil.rmtree(folder, ignore_errors=True)
        scratch.mkdir(parents=True)
        kind, kube_router = _module("sigs.k8s.io/kind"), _module("github.com/cloudnativelabs/kube-router/v2")
        oci.write_archive(image.components, _components(programs, base, kind, scratch), scratch)
        layer = _node_layer(programs, kind, kube_router, scratch / "node")
        config: dict[str, object] = {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=docker"],
            "Entrypoint": ["/usr/local/bin/entrypoint", "/sbin/init"], "StopSignal": "SIGRTMIN+3",
        }  # fmt: skip
        oci.write_archive(image.archive, [oci.Image((image.name,), (base, layer), config)], scratch)
        shutil.rmtree(scratch)
        (folder / "done").touch()
    return image


def _module(path: str) -> Path:
    """Folder of a Go module of tools/go in the module cache; downloads it where no build has needed it yet."""
    found = output([gotools.toolchain(), "-C", gotools.MODULE, "mod", "download", "-json", path], timeout_s=300)
    return Path(json.loads(found)["Dir"])


def _folder(root: Path, place: str, programs: dict[str, Path]) -> Path:
    """A layer folder with programs at `place`, under the given names."""
    (root / place).mkdir(parents=True, exist_ok=True)
    for name, source in programs.items():
        shutil.copy2(source, root / place / name)
        (root / place / name).chmod(0o755)
    return root


def _kube(root: Path, place: str, programs: Path, names: tuple[str, ...]) -> Path:
    """A layer folder with the one Kubernetes binary and a link for each program name."""
    _folder(root, place, {"kube": programs / "kube"})
    for name in names:
        (root / place / name).symlink_to("kube")
    return root


def _components(programs: Path, base: Path, kind: Path, scratch: Path) -> list[oci.Image]:
    """Images of Kubernetes' own Pods under the names that kubeadm and kind's manifests ask for."""
    kubeadm = scratch / "kubeadm"
    kubeadm.symlink_to(programs / "kube")
    listed = output([kubeadm, "config", "images", "list", f"--kubernetes-version={KUBERNETES_VERSION}"]).split()
    kube = _kube(scratch / "kube", "usr/local/bin", programs, (*CONTROL_PLANE, "kube-proxy"))
    provisioner, helper = manifests.storage_images(kind)

    def single(name: str, program: str, place: str) -> Path:
        return _folder(scratch / name, place, {program: programs / program})

    layers: dict[str, tuple[tuple[Path, ...], dict[str, object]]] = {
        **{name: ((kube,), {}) for name in CONTROL_PLANE},
        "kube-proxy": ((base, kube), {}),
        "etcd": (
            (_folder(scratch / "etcd", "usr/local/bin", {"etcd": programs / "etcd", "etcdctl": programs / "etcdctl"}),),
            {},
        ),
        "coredns": ((single("coredns", "coredns", "."),), {"Entrypoint": ["/coredns"]}),
        "pause": ((single("pause", "pause", "."),), {"Entrypoint": ["/pause"]}),
    }
    images = []
    for reference in listed:
        short = reference.rsplit("/", 1)[1].split(":")[0]
        # kind's containerd configuration may name an older pause image than kubeadm does.
        names = (reference, "registry.k8s.io/pause:3.10") if short == "pause" else (reference,)
        images.append(oci.Image(names, *layers[short]))
    local_path = single("local-path", "local-path-provisioner", "usr/local/bin")
    router = single("router", "kube-router", "usr/local/bin")
    images.append(oci.Image((provisioner,), (base, local_path)))
    images.append(oci.Image((helper,), (base,)))
    images.append(oci.Image((KUBE_ROUTER_IMAGE,), (base, router), {"Entrypoint": ["/usr/local/bin/kube-router"]}))
    return images


def _node_layer(programs: Path, kind: Path, kube_router: Path, root: Path) -> Path:
    """Everything that makes the root filesystem a kind node."""
    shutil.copytree(kind / "images/base/files", root, copy_function=shutil.copyfile)
    for directory in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        directory.chmod(0o755)
    for script in [*(root / "usr/local/bin").iterdir(), *(root / "kind/bin").iterdir()]:
        script.chmod(0o755)
    _kube(root, "usr/bin", programs, NODE_PROGRAMS)
    _folder(
        root,
        "usr/local/bin",
        {p: programs / p for p in ("containerd", "containerd-shim-runc-v2", "ctr", "crictl", "etcdctl")},
    )
    _folder(root, "opt/cni/bin", {plugin: programs / plugin for plugin in CNI_PLUGINS})
    (root / "kind/manifests").mkdir()
    (root / "kind/manifests/default-storage.yaml").write_text(manifests.storage(kind))
    (root / "kind/manifests/default-cni.yaml").write_text(manifests.network(kube_router, KUBE_ROUTER_IMAGE))
    (root / "kind/version").write_text(KUBERNETES_VERSION)
    _container_defaults(programs, root)
    _show_mounted_controllers_only(root / "usr/local/bin/entrypoint")
    config = root / "etc/containerd/config.toml"
    # Lowering oom_score_adj needs CAP_SYS_RESOURCE, which small virtual machines lack.
    config.write_text(config.read_text().replace("restrict_oom_score_adj = false", "restrict_oom_score_adj = true"))
    return root


def _container_defaults(programs: Path, root: Path) -> None:
    """containerd's default container settings with kind's hook, as kind's own image build writes them."""
    spec = json.loads(output([programs / "ctr", "oci", "spec"]))
    spec.setdefault("hooks", {}).setdefault("createContainer", []).append({"path": "/kind/bin/mount-product-files.sh"})
    spec["process"].pop("rlimits", None)
    (root / "etc/containerd/cri-base.json").write_text(json.dumps(spec))


def _show_mounted_controllers_only(entrypoint: Path) -> None:
    """On control groups v1, hide controllers that the machine leaves unmounted: systemd would try to mount them."""
    marker = "# validate state\nvalidate_userns\n"
    script = entrypoint.read_text()
    assert marker in script, "kind's entrypoint has changed; look where it starts"
    ours = (
        "# show systemd only those v1 controllers that are mounted here (kind's undo-mount-hacks.service lifts it)\n"
        "if [[ ! -f /sys/fs/cgroup/cgroup.controllers ]]; then\n"
        "  awk 'NR==1 || system(\"test -d /sys/fs/cgroup/\" $1)==0' /proc/cgroups >/kind/fake-cgroups\n"
        "  mount --bind /kind/fake-cgroups /proc/cgroups\n"
        "fi\n"
    )
    entrypoint.write_text(script.replace(marker, ours + marker))


def load(image: NodeImage, env: dict[str, str], engine: list[str]) -> None:
    """Load the node image into the container engine, unless it is there.

    Args:
        engine: the engine's command words, `["docker"]` or podman's.
    """
    if not output([*engine, "image", "inspect", "-f", "yes", image.name], env=env, check=False).strip():
        with phase("load the node image"):
            run([*engine, "load", "-q", "-i", image.archive], log="node-image", env=env, fix="see the log")
