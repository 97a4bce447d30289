"""The process that touches the volume: a job on stdin, what it does and finds on stdout, a JSON object a line."""

from __future__ import annotations

import json
import sys
from typing import Any

from ..cluster import ClusterError, KubernetesCluster
from .job import Job
from .peer import JobPods, Nobody, Peers
from .steps import Steps


def main() -> None:
    """Until the work is done, or nobody reads any more."""
    job = Job(**json.loads(sys.stdin.readline()))

    def tell(line: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    Steps(job, _peers(job), tell).run()
    tell({"done": True})


def _peers(job: Job) -> Peers:
    if not job.namespace:
        return Nobody()
    try:
        return JobPods(KubernetesCluster.connect(), job.namespace, job.job, job.other)
    except ClusterError:
        return Nobody()


if __name__ == "__main__":
    main()
