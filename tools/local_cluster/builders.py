"""docker, podman or buildah behind one small interface: build from a context, import a root filesystem, save, load."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from .run import output, run

_LOG = "images"
_FIX = "read the log; `make images` runs this part alone"


class Builder(Protocol):
    """What the images need of a container engine. References are full: registry, name and tag."""

    def exists(self, reference: str) -> bool:
        """Whether the engine's store holds this image."""

    def pull(self, reference: str, timeout_s: float) -> bool:
        """Pull an image from a registry; False when that fails or takes longer than `timeout_s` seconds."""

    def import_root(self, tar: Path, reference: str, command: str) -> None:
        """Make an image of one layer from a root filesystem."""

    def build(self, context: Path, reference: str, base: str, *, network: bool = False) -> None:
        """Build the Containerfile of `context` on `base`; the steps see the host's network or none."""

    def save(self, reference: str, archive: Path) -> None:
        """Write an uncompressed docker archive (docker, podman, containerd and kind all load it)."""

    def load(self, archive: Path) -> None:
        """Put the images of an archive into the store."""

    def remove(self, reference: str) -> None:
        """Remove an image from the store; nothing happens when it is not there or in use."""


class DockerLike:
    """docker and podman, whose command lines agree in what is needed here.

    Args:
        program: `docker` or `podman`.
        env: process environment of its calls.
    """

    def __init__(self, program: str, env: Mapping[str, str]) -> None:
        self._program, self._env = program, env

    def exists(self, reference: str) -> bool:
        return bool(self._output("image", "inspect", "-f", "{{.Id}}", reference))

    def pull(self, reference: str, timeout_s: float) -> bool:
        return bool(self._output("pull", "-q", reference, timeout_s=timeout_s))

    def import_root(self, tar: Path, reference: str, command: str) -> None:
        self._run("import", "-c", f"CMD {command}", str(tar), reference)

    def build(self, context: Path, reference: str, base: str, *, network: bool = False) -> None:
        # podman and buildah take a step from their cache though the files it mounts have changed, hence no layers kept;
        # and the base may exist only here.
        own = ["--pull=never", "--layers=false"] if self._program == "podman" else []
        self._run(
            "build", f"--network={_network(network)}", "--no-cache", *own, "--build-arg", f"BASE={base}", "-t", reference,
            "-f", str(context / "Containerfile"), str(context), env={"DOCKER_BUILDKIT": "1"},
        )  # fmt: skip

    def save(self, reference: str, archive: Path) -> None:
        form = ["--format", "docker-archive"] if self._program == "podman" else []
        self._run("save", *form, "-o", str(archive), reference)

    def load(self, archive: Path) -> None:
        self._run("load", "-i", str(archive))

    def remove(self, reference: str) -> None:
        self._output("rmi", reference)

    def _output(self, *arguments: str, timeout_s: float = 60) -> str:
        return output([self._program, *arguments], env=self._env, timeout_s=timeout_s, check=False).strip()

    def _run(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        run([self._program, *arguments], log=_LOG, env={**self._env, **(env or {})}, fix=_FIX, timeout_s=3600)


class Buildah:
    """buildah, for machines that build images and run none.

    Args:
        env: process environment of its calls.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def exists(self, reference: str) -> bool:
        return bool(self._output("inspect", "--type", "image", "-f", "{{.FromImageID}}", reference))

    def pull(self, reference: str, timeout_s: float) -> bool:
        return bool(self._output("pull", "-q", reference, timeout_s=timeout_s))

    def import_root(self, tar: Path, reference: str, command: str) -> None:
        container = output(["buildah", "from", "scratch"], env=self._env).strip()
        self._run("add", "-q", container, str(tar), "/")
        self._run("config", "--cmd", command, container)
        self._run("commit", "-q", "--rm", container, reference)

    def build(self, context: Path, reference: str, base: str, *, network: bool = False) -> None:
        self._run(
            "build", f"--network={_network(network)}", "--pull-never", "--layers=false", "--build-arg", f"BASE={base}", "-t", reference,
            "-f", str(context / "Containerfile"), str(context),
        )  # fmt: skip

    def save(self, reference: str, archive: Path) -> None:
        self._run("push", "-q", reference, f"docker-archive:{archive}:{reference}")

    def load(self, archive: Path) -> None:
        self._run("pull", "-q", f"docker-archive:{archive}")

    def remove(self, reference: str) -> None:
        self._output("rmi", reference)

    def _output(self, *arguments: str, timeout_s: float = 60) -> str:
        return output(["buildah", *arguments], env=self._env, timeout_s=timeout_s, check=False).strip()

    def _run(self, *arguments: str) -> None:
        run(["buildah", *arguments], log=_LOG, env=self._env, fix=_FIX, timeout_s=3600)


def _network(wanted: bool) -> str:
    return "host" if wanted else "none"


def builder_for(name: str, env: Mapping[str, str]) -> Builder:
    """The builder called `docker`, `podman` or `buildah`."""
    return Buildah(env) if name == "buildah" else DockerLike(name, env)
