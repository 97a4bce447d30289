"""Claims that Pods will mount, their StorageClasses and CSI drivers, and the pool of another release."""

from __future__ import annotations

from collections.abc import Iterator

from ...cluster import JsonObject
from ...rows import INFO, Row
from ..amounts import amounts
from ..config import Claim, Part
from ..context import CLAIMS, CLASSES, DAEMON_SETS, DRIVERS, STATEFUL_SETS, Context, fails, ok, warns

KINDS = {"DaemonSet": DAEMON_SETS, "StatefulSet": STATEFUL_SETS}
LATE = "WaitForFirstConsumer"


def claims(context: Context) -> Iterator[Row]:
    """Each is there, Bound or about to be, and may be used by several nodes."""
    for claim in context.settings.claims:
        yield from _made(context, claim) if claim.made else _given(context, claim)


def _made(context: Context, claim: Claim) -> Iterator[Row]:
    if claim.storageClass and context.objects.get(CLASSES, claim.storageClass) is None:
        yield fails(
            "claims",
            f"StorageClass {claim.storageClass} absent",
            "a StorageClass",
            f"{claim.key}: the cluster has no StorageClass {claim.storageClass}, so that claim {claim.name} would "
            "stay Pending",
            "name one that there is",
            "kubectl get storageclass",
        )
        return
    namespace = context.settings.namespace
    found = context.objects.get(CLAIMS, claim.name, namespace)
    if found is None:
        yield ok("claims", f"{claim.name} is made by the release", "a claim")
    elif found["metadata"].get("deletionTimestamp"):
        yield fails(
            "claims",
            f"{claim.name} is being deleted",
            "no claim, or one that stays",
            f"{claim.key}: claim {claim.name} of an earlier release is still being deleted, and would take the new Pods' "
            "volume with it",
            "wait for it, then run this again",
            f"kubectl wait --for=delete pvc/{claim.name} -n {namespace} --timeout=180s",
        )
    else:
        yield from _kept(claim, found)


def _kept(claim: Claim, found: JsonObject) -> Iterator[Row]:
    """What Kubernetes changes in no claim that is there: the upgrade would end half way, and GitOps try for ever."""
    spec = found.get("spec") or {}
    kind = str(spec.get("storageClassName") or "")
    asked = str(((spec.get("resources") or {}).get("requests") or {}).get("storage") or "")
    differs = False
    if kind != claim.madeClass:
        differs = True
        yield fails(
            "claims",
            f"{claim.name} of class {kind or 'none'}",
            f"class {claim.madeClass or 'none'}",
            f"{claim.key}: claim {claim.name} is of class {kind!r}, and these values make it of class "
            f"{claim.madeClass!r}; Kubernetes changes the class of no claim",
            claim.recipe,
        )
    if asked and claim.size and amounts({"storage": asked}).get("storage", claim.size) != claim.size:
        differs = True
        yield fails(
            "claims",
            f"{claim.name} of {asked}",
            f"{claim.size} bytes",
            f"{claim.key}.size: claim {claim.name} was made with {asked}, and these values ask for {claim.size} bytes; "
            "Kubernetes changes the size of no such claim",
            f"set it to {asked}: the size holds nobody back, l2.keeper.quota and ttl do. Or {claim.recipe}",
        )
    if not differs:
        yield ok("claims", f"{claim.name} is there, as these values make it", "a claim")


def _given(context: Context, claim: Claim) -> Iterator[Row]:
    namespace = context.settings.namespace
    expected = f"{claim.name} Bound" + (f", {claim.mode}" if claim.mode else "")
    found = context.objects.get(CLAIMS, claim.name, namespace)
    look = f"kubectl -n {namespace} describe pvc {claim.name}"
    if found is None:
        yield fails(
            "claims",
            f"{claim.name} absent",
            expected,
            f"{claim.key}: namespace {namespace} has no PersistentVolumeClaim {claim.name}",
            "create it first, or name another one",
            f"kubectl -n {namespace} get pvc",
        )
        return
    if found["metadata"].get("deletionTimestamp"):
        yield fails(
            "claims",
            f"{claim.name} is being deleted",
            expected,
            f"{claim.key}: claim {claim.name} is being deleted; new Pods could not use it",
            "choose one that stays",
            look,
        )
        return
    modes = [str(each) for each in (found.get("spec") or {}).get("accessModes") or []]
    if claim.mode and claim.mode not in modes:
        yield fails(
            "claims",
            f"{claim.name} {', '.join(modes)}",
            expected,
            f"{claim.key}: claim {claim.name} has access modes {', '.join(modes) or 'none'}; Pods on several nodes "
            "use it",
            f"use a claim of a shared filesystem with access mode {claim.mode}",
            look,
        )
        return
    phase = str((found.get("status") or {}).get("phase") or "Pending")
    if phase == "Bound":
        yield ok("claims", f"{claim.name} Bound, {', '.join(modes)}", expected)
    else:
        yield from _unbound(context, claim, found, phase, expected)


def _unbound(context: Context, claim: Claim, found: JsonObject, phase: str, expected: str) -> Iterator[Row]:
    namespace = context.settings.namespace
    look = f"kubectl -n {namespace} describe pvc {claim.name}"
    name = str((found.get("spec") or {}).get("storageClassName") or "")
    storage = context.objects.get(CLASSES, name) if name else None
    if name and storage is None and phase == "Pending":
        yield fails(
            "claims",
            f"{claim.name} {phase}, StorageClass {name} absent",
            expected,
            f"{claim.key}: claim {claim.name} waits for StorageClass {name}, which the cluster does not have",
            "create the class, or a claim of another one",
            "kubectl get storageclass",
            look,
        )
    elif storage and storage.get("volumeBindingMode") == LATE and phase == "Pending":
        # It binds as soon as a Pod mounts it, and nothing else would make it: engines and keeper are ordinary objects.
        yield Row("claims", INFO, f"{claim.name} Pending, binds with its first Pod ({LATE})", expected)
    else:
        yield fails(
            "claims",
            f"{claim.name} {phase}",
            expected,
            f"{claim.key}: claim {claim.name} is {phase}, and nothing that the release makes would bind it",
            "see why it is not Bound",
            look,
        )


def drivers(context: Context) -> Iterator[Row]:
    """CSI drivers that claims and buckets are mounted by."""
    for driver in context.settings.drivers:
        if driver.made or context.objects.get(DRIVERS, driver.name):
            yield ok("CSI driver", f"{driver.name} {'is made by the release' if driver.made else 'there'}", driver.name)
        else:
            yield fails(
                "CSI driver",
                f"{driver.name} absent",
                driver.name,
                f"{driver.key}: the cluster has no CSIDriver {driver.name}",
                "install the driver, or use another source",
                "kubectl get csidriver",
            )


def parts(context: Context) -> Iterator[Row]:
    """What runs elsewhere and the release counts on: a pool of another release, AWS's tiered storage."""
    for part in context.settings.parts:
        yield _part(context, part)


def _part(context: Context, part: Part) -> Row:
    row = fails if part.required else warns
    where = f"{part.kind} {part.namespace}/{part.name}"
    look = f"kubectl -n {part.namespace} describe {part.kind.lower()} {part.name}"
    found = context.objects.get(KINDS[part.kind], part.name, part.namespace)
    if found is None:
        return row(
            "parts",
            f"{part.name} absent",
            f"{where} ready",
            f"{part.key}: there is no {where}",
            "install what it belongs to",
            f"kubectl -n {part.namespace} get {part.kind.lower()}",
        )
    status = found.get("status") or {}
    if part.kind == "DaemonSet":
        desired, ready = int(status.get("desiredNumberScheduled") or 0), int(status.get("numberReady") or 0)
    else:
        desired, ready = int((found.get("spec") or {}).get("replicas") or 0), int(status.get("readyReplicas") or 0)
    if desired == 0:
        # It looks like a success to everybody who compares the two numbers.
        what = f"{part.key}: {where} is wanted on 0 nodes: its node selector or tolerations fit no node"
        return row(
            "parts",
            f"{part.name} 0 of 0",
            f"{where} ready",
            what,
            "mend its placement",
            look,
            "kubectl get nodes --show-labels",
        )
    if ready < desired:
        return row(
            "parts",
            f"{part.name} {ready} of {desired}",
            f"{where} ready",
            f"{part.key}: {ready} of {desired} Pods of {where} are ready",
            "see its Pods",
            look,
        )
    return ok("parts", f"{part.name} {ready} of {desired}", f"{where} ready")
