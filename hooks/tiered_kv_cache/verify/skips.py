"""Why a tier was not measured, and how it can be."""

from __future__ import annotations

from ..findings import Finding
from .judgement import Judgement
from .result import Row

ONE_POD, NO_RESET, RESET_OFF, IN_USE, NO_TIME = (
    "one Pod",
    "L0 is in the way",
    "resetL0 is never",
    "L0 is in use",
    "no time left",
)
"""Why a row was not measured, where something can be done about it."""


def advise(judgement: Judgement, row: Row) -> None:
    """Say how a tier that was not measured can be; nothing where the values switch it off."""
    model, place = judgement.model, judgement.result.place(row)
    second = f"kubectl scale -n {judgement.evidence.namespace} deployment/{model.deployment} --replicas=2"
    undo = " (the autoscaler may take it away again)" if model.autoscaled else ""
    key = "autoscaling.minReplicas" if model.autoscaled else "replicas"
    ways: dict[str, tuple[str, tuple[str, ...]]] = {
        ONE_POD: (
            f"for this test start a second Pod{undo} and run helm test again; for good set models.{model.name}.{key}: 2",
            (second,),
        ),
        NO_RESET: (
            f'on a test release, set models.{model.name}.engine.env.VLLM_SERVER_DEV_MODE: "1", which adds POST '
            "/reset_prefix_cache; not in production: the endpoint has no authentication",
            (),
        ),
        RESET_OFF: ("set hooks.verify.resetL0: auto; it empties L0 of one Pod", ()),
        IN_USE: ("run helm test when the model is quiet", ()),
        NO_TIME: ("raise hooks.verify.deadlineSeconds", ()),
    }
    if row.why in ways:
        fix, commands = ways[row.why]
        judgement.result.skips.append(Finding(f"model {model.name}: {place}: {row.note}", fix, commands))
