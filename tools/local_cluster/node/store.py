"""The nodes' image store, filled once on the host and shared by all nodes through hard links.

`kind load` streams every image through the container engine into each node: minutes for an image of gigabytes. Here a
private containerd unpacks each image once into a seed folder. A node's /var/lib/containerd is then a tree of hard links
to it, made in seconds: unpacked layers and content never change, only the databases are copied. Nodes also share the
page cache of those files, so the second engine starts from memory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .. import cache
from ..problem import Problem
from ..progress import phase
from ..run import log_file, output, run
from ..settings import PLACES

_NAMESPACE = "k8s.io"


class Seed:
    """The seed folder and the programs that fill it.

    Args:
        programs: folder with containerd and ctr.
        name: one seed per version of the node's components.
    """

    def __init__(self, programs: Path, name: str) -> None:
        self.programs = programs
        self.root = PLACES.cache / "node-store" / name
        self.socket = self.root / "run" / "containerd.sock"

    def fill(self, archives: dict[str, Path]) -> None:
        """Import each archive whose image the store lacks; drop images that are not wanted any more.

        Args:
            archives: image reference -> archive that holds it (an archive may hold more images).
        """
        self.root.mkdir(parents=True, exist_ok=True)
        cache.use(self.root)
        wanted = self.root / "wanted"
        key = "\n".join(sorted(archives))
        if wanted.exists() and wanted.read_text() == key:
            return
        with self._containerd() as ctr:
            present = set(output([*ctr, "images", "ls", "-q"]).split())
            for archive in dict.fromkeys(path for name, path in archives.items() if name not in present):
                with phase(f"unpack {archive.name}", f"once for all nodes, {archive.stat().st_size / 1e9:.1f} GB"):
                    run(
                        [
                            *ctr,
                            "images",
                            "import",
                            "--local",
                            "--discard-unpacked-layers",
                            "--snapshotter=overlayfs",
                            archive,
                        ],
                        log="store",
                        fix="see the log",
                    )
            stale = [name for name in present if name.startswith("localhost/tiered-kv-cache/") and name not in archives]
            if stale:
                output([*ctr, "images", "rm", "--sync", *stale], timeout_s=300)
        wanted.write_text(key)

    def clone(self, target: Path) -> None:
        """A node's store: hard links to the seed, own copies of the databases."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        data = self.root / "data"
        run(["cp", "-al", f"{data}/.", target], log="store", fix="the cache must be on one disk that knows hard links")
        for database in data.rglob("*.db"):
            copy = target / database.relative_to(data)
            copy.unlink()
            shutil.copy2(database, copy)

    @contextlib.contextmanager
    def _containerd(self) -> Iterator[list[str]]:
        """Run a private containerd on the seed and yield the ctr command words."""
        run_dir = self.root / "run"
        self._end_stale(run_dir)
        shutil.rmtree(run_dir, ignore_errors=True)
        run_dir.mkdir(parents=True)
        config = run_dir / "config.toml"
        config.write_text(
            f'version = 3\nroot = "{self.root}/data"\nstate = "{run_dir}/state"\noom_score = 0\n'
            'disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]\n'
            f'[grpc]\n  address = "{self.socket}"\n[ttrpc]\n  address = "{run_dir}/ttrpc.sock"\n'
        )
        ctr = [str(self.programs / "ctr"), "-a", str(self.socket), "-n", _NAMESPACE]
        with log_file("store").open("ab") as log:
            daemon = subprocess.Popen(
                [self.programs / "containerd", "-c", config], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "PATH": f"{self.programs}:{os.environ.get('PATH', '')}"},
            )  # fmt: skip
        (run_dir / "pid").write_text(str(daemon.pid))
        try:
            deadline = time.monotonic() + 30
            while not output([*ctr, "version"], check=False):
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise Problem(
                        "the private containerd that unpacks images did not start",
                        "read the log",
                        str(log_file("store")),
                    )
                time.sleep(0.1)
            yield ctr
        finally:
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _end_stale(self, run_dir: Path) -> None:
        """End a containerd that a killed run left behind: it holds the databases' locks."""
        try:
            pid = int((run_dir / "pid").read_text())
            ours = str(run_dir).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ValueError, ProcessLookupError):
            return
        if ours:
            os.kill(pid, signal.SIGKILL)
            while _alive(pid):
                time.sleep(0.05)


def _alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
