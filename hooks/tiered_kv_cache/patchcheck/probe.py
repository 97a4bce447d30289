"""Pods by server-side dry-run: the whole admission chain sees them, and none of them is ever made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ..cluster import ClusterError, JsonObject
from ..deadline import Deadline
from ..findings import Finding, shorten
from ..objects import Asking
from ..rows import FAIL, OK, Row
from .config import Place
from .judge import faults, touched
from .shapes import IN_PROCESS, MULTI_PROCESS, foreign_pods, operator_pod

POLL_SECONDS = 3.0


@dataclass(frozen=True)
class Probe:
    """``judge``: what is wrong with the Pod that came back; ``expected``: for the table."""

    place: Place
    title: str
    pod: JsonObject
    expected: str
    judge: Callable[[JsonObject], list[str]]


@dataclass(frozen=True)
class Answer:
    """``faults``: nothing if it is as it should be; ``seen``: for the table; ``fix``: what to do; ``again``: it may yet come."""

    seen: str
    faults: tuple[str, ...] = ()
    fix: str = ""
    again: bool = True


def probes(place: Place) -> Iterator[Probe]:
    """All that is tried in a namespace."""
    for model in place.tried():
        for mode in (IN_PROCESS, MULTI_PROCESS):
            pod = operator_pod(place, model, mode)
            title = f"{place.namespace}/{model.name} {mode}"
            yield Probe(place, title, pod, "patched", partial(faults, place, model, mode, pod))
    for what, pod in foreign_pods(place).items():
        yield Probe(place, f"{place.namespace}: {what}", pod, "untouched", partial(touched, pod))


def ask(cluster: Asking, probe: Probe) -> Answer:
    """Try one."""
    namespace = probe.place.namespace
    try:
        back = cluster.ask(
            "create pods (dry run)",
            "POST",
            f"/api/v1/namespaces/{namespace}/pods",
            namespace,
            body=probe.pod,
            query={"dryRun": "All"},
        )
    except ClusterError as err:
        return _refused(err, namespace)
    found = probe.judge(back or {"spec": {}})
    if not found:
        return Answer(probe.expected)
    if probe.expected == "untouched":
        return Answer(
            "changed",
            tuple(found),
            "somebody changes Pods that are none of the patch's: see the policies and webhooks of the cluster",
        )
    return Answer(
        "not as specified",
        tuple(found),
        "see that the patch is there (kubectl get "
        "mutatingadmissionpolicy,mutatingadmissionpolicybinding,mutatingwebhookconfiguration) "
        "and that nothing changes Pods after it; upgrade the release",
    )


def _refused(err: ClusterError, namespace: str) -> Answer:
    said = shorten(err.message or str(err), 600)
    if err.status == 404:
        return Answer(
            "no namespace",
            (f"namespace {namespace} does not exist",),
            f"make it, or take it out of inferenceOperator.l2Patch.namespaces: kubectl create namespace {namespace}",
            False,
        )
    if "cannot create resource" in said:
        return Answer(
            "not allowed",
            (said,),
            f"install the chart's Role of this hook in namespace {namespace}, or use a kubeconfig that may create pods",
            False,
        )
    if "exceeded quota" in said or "is forbidden: failed quota" in said or "LimitRange" in said:
        return Answer("refused", (said,), "the namespace has no room for a Pod at all: raise its quota", False)
    if "violates PodSecurity" in said:
        return Answer("refused", (said,), "the namespace refuses the operator's Pods by its Pod Security level", False)
    return Answer(
        "refused", (said,), "do what the message says; where it is a webhook that does not answer, see its Pods"
    )


def run(cluster: Asking, wanted: Sequence[Probe], deadline: Deadline, say: Callable[[str], None]) -> dict[str, Answer]:
    """Try all, and again what is not right yet, until the deadline: a patch that was just made takes its time to be seen."""
    answers: dict[str, Answer] = {}
    left = list(wanted)
    while True:
        for probe in left:
            answers[probe.title] = ask(cluster, probe)
        left = [probe for probe in left if answers[probe.title].faults and answers[probe.title].again]
        if not left or deadline.remaining() <= POLL_SECONDS:
            return answers
        say(f"{len(left)} of {len(wanted)} not right yet: {left[0].title}: {answers[left[0].title].faults[0]}")
        deadline.sleep(POLL_SECONDS)


def rows(wanted: Sequence[Probe], answers: dict[str, Answer]) -> list[Row]:
    """For the table, in the order of trying."""
    found = []
    for probe in wanted:
        answer = answers[probe.title]
        if answer.faults:
            what = f"{probe.title}: {'; '.join(answer.faults)}"
            found.append(Row(probe.title, FAIL, answer.seen, probe.expected, Finding(what, answer.fix)))
        else:
            found.append(Row(probe.title, OK, answer.seen, probe.expected))
    return found
