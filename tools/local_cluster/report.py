"""The table at the end of `make up`, from what `helm test` measured."""

from __future__ import annotations

import io
import json
from typing import Any, Literal

from kubernetes.client.exceptions import ApiException
from rich import box
from rich.console import Console
from rich.table import Table

from . import kube
from .helm import Helm
from .problem import Problem
from .providers import Provider

TIERS = {
    "cold": "cold, nothing cached", "l2": "L2, from another Pod", "l1": "L1, the Pod's memory", "l0": "L0, vLLM's own",
    "control": "cold again, control",
}  # fmt: skip

COLUMNS: dict[str, Literal["left", "right"]] = {
    "prompt tokens from": "left", "TTFT ms": "right", "vs cold": "right", "L0": "right", "L1": "right", "L2": "right",
    "Pod": "left", "node": "left",
}  # fmt: skip
"""Column -> alignment, as in the table of `helm test`; the tiers' columns are the prompt tokens that each of them served."""


def measured(where: Provider, release: Helm) -> dict[str, Any]:
    """The JSON that the verify Pod left as its termination message.

    Raises:
        Problem: the Pod is gone or left no message.
    """
    name = f"{release.release}-verify"
    try:
        status = kube.core(where.kubeconfig).read_namespaced_pod(name, release.namespace).status
    except ApiException as error:
        if error.status != 404:
            raise
        states: list[Any] = []
    else:
        states = status.container_statuses or []
    message = next((state.state.terminated.message for state in states if state.state.terminated), None)
    if not message:
        raise Problem(
            f"Pod {name} left no result", f"`helm test {release.release} -n {release.namespace} --logs` runs it again"
        )
    return dict(json.loads(message))


def table(where: Provider, release: Helm) -> str:
    """Model, Pods, tier by tier TTFT and hit tokens, and a curl line that works as printed."""
    result = measured(where, release)
    out = io.StringIO()
    console = Console(file=out, width=200)
    for model in result["models"]:
        console.print(
            f"\n{model['model']}: a prompt of {model['promptTokens']} tokens; the faster of both uncached runs counts as 1.0x"
        )
        grid = Table(box=box.SIMPLE_HEAD)
        for column, justify in COLUMNS.items():
            grid.add_column(column, justify=justify, no_wrap=True)
        rows = [*model["tiers"], *([model["control"]] if model.get("control") else [])]
        for row in sorted(rows, key=lambda row: list(TIERS).index(row["tier"])):
            hits, ttft, ratio = row.get("hitTokens"), row.get("ttftMs"), row.get("ratio")
            grid.add_row(
                TIERS[row["tier"]],
                f"{ttft:.0f}" if ttft is not None else row.get("note") or "not measured",
                f"{ratio:.{1 if ratio >= 0.95 else 2}f}x" if ratio else "",
                *(str(hits[tier]) if hits else "" for tier in ("l0", "l1", "l2")),
                f"…-{row['pod'].rpartition('-')[2]}" if row.get("pod") else "",
                row.get("node") or "",
            )
        console.print(grid)
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    for model in result["models"][:1]:
        name = served_name(release, model["model"])
        if where.url():
            text += f"\nURL: {where.url()}\n{curl(where.url(), name)}\n"
        else:
            service = f"svc/{release.release}-{model['model']}"
            text += f"\nkubectl -n {release.namespace} port-forward {service} 18080:80 &\n{curl('http://127.0.0.1:18080', name)}\n"
    return text


def served_name(release: Helm, model: str) -> str:
    """The name under which clients ask for the model: the chart's value, or the map's key."""
    values = json.loads(release.call("get", "values", release.release, "--all", "-o", "json").out)
    return str((values["models"].get(model) or {}).get("servedName") or model)


def curl(url: str, model: str) -> str:
    question = {
        "model": model,
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "max_tokens": 32,
        "temperature": 0,
    }
    return f"curl -s {url}/v1/chat/completions -H 'Content-Type: application/json' -d '{json.dumps(question)}'"
