"""One run of verify over all models."""

from __future__ import annotations

from .. import names
from ..cluster import ClusterError
from ..deadline import DeadlinePassed
from ..findings import Finding
from . import diagnose, files, prompt, static, target, tiers, waiting
from .config import ModelSpec
from .context import Context
from .result import ModelResult, Result

SLOW = "raise hooks.verify.deadlineSeconds, or find out what is slow there"


def run(ctx: Context) -> Result:
    """Verify every model; never raises for what it finds."""
    models = ctx.settings.models
    result = Result(models=[ModelResult(m.name) for m in models])
    if not models:
        result.findings.append(
            Finding(
                f"release {ctx.release} has no enabled model to verify",
                "add one under models, or set hooks.verify.enabled false",
            )
        )
    try:
        if not _specs_differ(ctx, result):
            for model, entry in zip(models, result.models, strict=True):
                _model(ctx, model, entry)
    except ClusterError as err:
        result.findings.append(Finding(f"the cluster: {err}", err.fix))
    return result


def _specs_differ(ctx: Context, result: Result) -> bool:
    """Check all specs first: what they show needs no waiting. True when there is a fault, in any model."""
    for model, entry in zip(ctx.settings.models, result.models, strict=True):
        pods = waiting.list_pods(ctx, model)
        entry.pods = [p.name for p in pods]
        # Pods of two revisions may differ while a rollout goes on; wait_ready looks again when it is over.
        if not waiting.rolling(pods):
            entry.findings += static.check(model, pods)
    differ = any(m.findings for m in result.models)
    for entry in result.models if differ else ():
        if not entry.findings:
            entry.notes.append("not measured, since the Pod specs of another model are at fault")
    return differ


def _model(ctx: Context, model: ModelSpec, entry: ModelResult) -> None:
    entry.prompt_tokens = ctx.settings.prompt_tokens
    pods, faults = waiting.wait_ready(ctx, model)
    entry.pods = [p.name for p in pods]
    if faults:
        entry.findings += faults
        return
    targets: list[target.Target] = []
    try:
        for pod in pods:
            targets.append(target.Target.connect(model, pod, ctx.reach, ctx.deadline))
        for each in targets:
            entry.findings += target.check(model, each)
        if not entry.findings:
            _measure(ctx, model, entry, targets)
    except tiers.StepFailed as err:
        entry.findings.append(_step_failed(ctx, model, err))
    except DeadlinePassed as err:
        entry.findings.append(Finding(f"model {model.name}: {err}", SLOW))
    except prompt.PromptTooLong as err:
        entry.findings.append(
            Finding(
                f"model {model.name}: hooks.verify.promptTokens is too large for maxModelLen {err.limit}: {err}",
                f"lower hooks.verify.promptTokens or raise models.{model.name}.engine.maxModelLen",
            )
        )
    finally:
        for each in targets:
            each.close()


def _step_failed(ctx: Context, model: ModelSpec, err: tiers.StepFailed) -> Finding:
    """A server that answered at first does so no more, or not in time."""
    pod, restarts = err.pod, err.pod.restarts(names.CONTAINER_LMCACHE)
    fix = f"see kubectl -n {ctx.namespace} describe pod {pod.name} and the logs of its containers, and run helm test again"
    if restarts:
        # Seen with LMCache 0.5.6: vLLM then waits for an answer that never comes, until its own timeout ends it.
        fix = (
            f"container lmcache restarted {restarts} times, after which vLLM may hang: kubectl -n {ctx.namespace} delete "
            f"pod {pod.name}, and run helm test again"
        )
    elif isinstance(err.cause, DeadlinePassed):
        fix = f"{SLOW}; {fix}"
    return Finding(f"model {model.name}: {err}", fix)


def _measure(ctx: Context, model: ModelSpec, entry: ModelResult, targets: list[target.Target]) -> None:
    before = files.chunk_files(model.l2_root) if model.l2 else None
    measurement = tiers.Measurement(ctx, model, targets, entry)
    try:
        measurement.run()
    finally:
        # What was measured before a failure is judged too.
        after = files.chunk_files(model.l2_root) if before is not None else None
        evidence = diagnose.Evidence(
            stored_chunks=measurement.stored_chunks,
            new_files=len(after - before) if after is not None and before is not None else None,
            block_size=measurement.block_size,
        )
        entry.findings += diagnose.judge(model, ctx.settings, entry, evidence)
    if not model.l2:
        entry.notes.append("L2 is off: only that every Pod answers was checked")
    elif len(targets) == 1:
        entry.notes.append("one replica: that a second Pod reads what the first stored in L2 cannot be proven")
