"""One run of verify over all models."""

from __future__ import annotations

from .. import names
from ..cluster import ClusterError
from ..deadline import DeadlinePassed
from ..findings import Finding
from ..pods import Pod
from . import diagnose, prompt, roots, target, tiers, waiting
from .config import ModelSpec
from .context import Context
from .judgement import Evidence
from .result import ModelResult, Result

ATTEMPTS = 3
"""Measurements of a model whose Pods are so busy that other requests hide the proof."""
LEAST_SHARE = 60.0
"""Seconds that the measurement of one model gets at least, however many wait behind it, as long as there are so many."""


def run(ctx: Context) -> Result:
    """Verify every model; never raises for what it finds."""
    models = ctx.settings.models
    result = Result(models=[_entry(ctx, m) for m in models])
    if not models:
        result.findings.append(
            Finding(
                f"release {ctx.release} has no enabled model to verify",
                "add one under models, or set hooks.verify.enabled false",
            )
        )
    try:
        _Run(ctx, result).all()
    except ClusterError as err:
        result.findings.append(Finding(f"the cluster: {err}", err.fix))
    result.seconds = ctx.deadline.elapsed()
    return result


def _entry(ctx: Context, model: ModelSpec) -> ModelResult:
    facts = []
    if model.l1 or model.l2:
        facts.append(f"LMCache {model.mode}")
    if model.strategy:
        facts.append(f"router {model.strategy}")
    return ModelResult(
        model.name,
        model.served_name,
        facts,
        prompt_tokens=ctx.settings.prompt_tokens,
        chunk_size=model.chunk_size if model.l1 or model.l2 else 0,
    )


class _Run:
    """Waits for all models side by side and measures one after the other, since timings must not disturb each other."""

    def __init__(self, ctx: Context, result: Result) -> None:
        self.ctx = ctx
        self.waiting = [
            (waiting.Watch(ctx, model), entry) for model, entry in zip(ctx.settings.models, result.models, strict=True)
        ]
        self.began_measuring: float | None = None
        self.measured = 0
        self.refused: ModelResult | None = None

    def all(self) -> None:
        """Until every model has its verdict; when the deadline passes, each of the rest is told why it has none."""
        while self.waiting:
            if not self._round(waiting.all_pods(self.ctx)):
                self.ctx.deadline.sleep(waiting.POLL_SECONDS)

    def _round(self, pods: list[Pod]) -> bool:
        """Look at all models that wait; True when one was measured, after which the Pods are to be listed anew."""
        for pair in list(self.waiting):
            watch, entry = pair
            faults = watch.look(pods)
            if faults is None:
                continue
            self.waiting.remove(pair)
            entry.pods = [p.name for p in watch.pods]
            entry.nodes = {p.name: p.node for p in watch.pods}
            entry.findings += faults
            if not faults:
                self._model(watch.model, entry, watch.pods)
                return True
        return not self.waiting

    def _model(self, model: ModelSpec, entry: ModelResult, pods: list[Pod]) -> None:
        if not pods:
            self._asleep(model, entry)
            return
        left = self.ctx.deadline.remaining()
        if not left:
            entry.findings.append(self._no_time(model))
            return
        ctx = self.ctx
        if self.waiting:
            ctx = ctx.within(max(LEAST_SHARE, left // (len(self.waiting) + 1)))
        if self.began_measuring is None:
            self.began_measuring = self.ctx.deadline.elapsed()
        targets: list[target.Target] = []
        try:
            for pod in pods:
                targets.append(target.Target.connect(model, pod, ctx.reach, ctx.deadline, ctx.api_key))
            for each in targets:
                entry.findings += target.check(model, each)
            if not entry.findings:
                _measure(ctx, model, entry, targets)
        except target.Unauthorized as err:
            self._key_refused(model, entry, err.pod)
        except (tiers.StepFailed, DeadlinePassed, prompt.PromptTooLong) as err:
            entry.findings.append(self._stopped(ctx, model, err))
        finally:
            for each in targets:
                each.close()
        self.measured += 1

    def _asleep(self, model: ModelSpec, entry: ModelResult) -> None:
        entry.skipped = True
        entry.skips.append(
            Finding(
                f"model {model.name}: scaled to zero, so that there is nothing to measure",
                f"wake it with two Pods and run helm test again, or set models.{model.name}.autoscaling.minReplicas: 2",
                (f"kubectl scale -n {self.ctx.namespace} deployment/{model.deployment} --replicas=2",),
            )
        )

    def _key_refused(self, model: ModelSpec, entry: ModelResult, pod: Pod) -> None:
        """One message for all models: they share the key."""
        if self.refused:
            entry.skipped = True
            entry.notes.append(f"not measured: its engines refuse the API key too, see model {self.refused.name}")
            return
        self.refused = entry
        secret = self.ctx.settings.api_key_secret
        name, _, key = secret.partition("/")
        what = f"model {model.name}: vLLM of Pod {pod.name} asks for an API key (401)"
        if not secret:
            finding = Finding(
                f"{what}, and the release names none",
                "put the key into a Secret and name it in apiKey.secretName (and apiKey.key), not in engine.args or "
                "engine.env; then helm upgrade",
            )
        elif not self.ctx.api_key:
            finding = Finding(
                f"{what}, and Secret {name} gives verify none under {key}",
                f"add {key} to Secret {name}, or correct apiKey.secretName and apiKey.key",
                (f"kubectl describe secret -n {self.ctx.namespace} {name}",),
            )
        else:
            finding = Finding(
                f"{what} and refuses that of Secret {name} ({key}), which was changed after the Pod had started, or "
                "the engine has another one from elsewhere",
                "restart the Pods, which then read the Secret anew; no key may be in engine.args or engine.env",
                (f"kubectl rollout restart -n {self.ctx.namespace} deployment/{model.deployment}",),
            )
        entry.findings.append(finding)

    def _no_time(self, model: ModelSpec) -> Finding:
        total, models = self.ctx.deadline.seconds, len(self.ctx.settings.models)
        began = self.began_measuring or 0.0
        each = (self.ctx.deadline.elapsed() - began) / max(1, self.measured)
        return Finding(
            f"model {model.name}: its Pods are Ready, but no time was left to measure it: {self.measured} of {models} "
            f"models took the {total:g} s",
            f"set hooks.verify.deadlineSeconds to {int(began + each * models * 1.5) + 60} or more, and give helm test a "
            "--timeout that is longer",
        )

    def _slow(self, ctx: Context) -> str:
        """What to do when a model's time is used up."""
        shared = ""
        if ctx.deadline is not self.ctx.deadline:
            shared = f" ({self.ctx.deadline.seconds:g} now, shared by {len(self.ctx.settings.models)} models)"
        return f"raise hooks.verify.deadlineSeconds{shared}, or find out what is slow there"

    def _stopped(self, ctx: Context, model: ModelSpec, err: Exception) -> Finding:
        """What ended a measurement before its end."""
        if isinstance(err, tiers.StepFailed):
            return self._step_failed(ctx, model, err)
        if isinstance(err, prompt.PromptTooLong):
            return Finding(
                f"model {model.name}: hooks.verify.promptTokens is too large for maxModelLen {err.limit}: {err}",
                f"lower hooks.verify.promptTokens or raise models.{model.name}.engine.maxModelLen",
            )
        return Finding(f"model {model.name}: {err}", self._slow(ctx))

    def _step_failed(self, ctx: Context, model: ModelSpec, err: tiers.StepFailed) -> Finding:
        """A server that answered at first does so no more, or not in time."""
        pod, restarts = err.pod, err.pod.restarts(names.CONTAINER_LMCACHE)
        commands: tuple[str, ...] = (
            f"kubectl describe pod -n {ctx.namespace} {pod.name}",
            f"kubectl logs -n {ctx.namespace} {pod.name} --all-containers --tail=50",
        )
        fix = "see the Pod and its logs, and run helm test again"
        if restarts:
            # Seen with LMCache 0.5.6: vLLM then waits for an answer that never comes, until its own timeout ends it.
            fix = (
                f"container lmcache restarted {restarts} times, after which vLLM may hang: delete the Pod, and run helm "
                "test again"
            )
            commands = (f"kubectl delete pod -n {ctx.namespace} {pod.name}",)
        elif isinstance(err.cause, DeadlinePassed):
            fix = f"{self._slow(ctx)}; {fix}"
        elif model.autoscaled:
            fix = f"the autoscaler may have removed the Pod: {fix}"
        return Finding(f"model {model.name}: {err}", fix, commands)


def _measure(ctx: Context, model: ModelSpec, entry: ModelResult, targets: list[target.Target]) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        measurement = tiers.Measurement(ctx, model, targets, entry, roots.known([t.pod for t in targets]))
        try:
            measurement.run()
        except tiers.StepFailed:
            # What was measured before the failure is judged too.
            _judge(ctx, model, entry, measurement)
            raise
        if attempt == ATTEMPTS or not diagnose.unproven(model, ctx.settings, entry):
            break
        ctx.say(f"{model.name}: other requests hide the proof; try {attempt + 1} of {ATTEMPTS} with a new prompt")
        entry.rows.clear()
    _judge(ctx, model, entry, measurement)


def _judge(ctx: Context, model: ModelSpec, entry: ModelResult, measurement: tiers.Measurement) -> None:
    evidence = Evidence(
        stored_chunks=measurement.stored_chunks,
        new_files=measurement.new_files,
        block_size=measurement.block_size,
        namespace=ctx.namespace,
        root=measurement.root,
    )
    diagnose.judge(model, ctx.settings, entry, evidence)
