"""A cluster that is there already, named explicitly; nothing of it is created or deleted but the release's namespaces."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from ..problem import Problem
from ..settings import PLACES


class Existing:
    """The cluster behind one context of the user's kubeconfig.

    Args:
        context: the context's name; never guessed from the current one.

    Raises:
        Problem: no context given, or the kubeconfig does not hold it.
    """

    local_images = False

    def __init__(self, context: str) -> None:
        source = Path(os.environ.get("KUBECONFIG", "").split(":")[0] or Path.home() / ".kube" / "config")
        loaded = yaml.safe_load(source.read_text()) if source.exists() else {}
        names = [entry["name"] for entry in (loaded or {}).get("contexts") or []]
        if context not in names:
            raise Problem(
                f"CONTEXT={context!r} is not in {source} (it has: {', '.join(names) or 'none'})",
                "name the context of the cluster that may be used, PROVIDER=existing CONTEXT=<name>",
            )
        # A copy with that one context as current: no tool below can act on another cluster by accident.
        self.kubeconfig = PLACES.cache / "existing" / "kubeconfig"
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump({**loaded, "current-context": context}))

    def up(self, archives: dict[str, Path]) -> None:
        """Nothing to do: the cluster is there and pulls its images itself."""

    def down(self) -> None:
        """Nothing to do: the cluster is not ours."""

    def url(self) -> str:
        return ""
