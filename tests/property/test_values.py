"""Each values tree that the schema accepts becomes objects that an API server accepts, or one of our messages.

PROPERTY_EXAMPLES sets how many trees are tried (`make property EXAMPLES=50000`). The default set is the same in each
run, so that a red run is the change's own; a larger one is new each time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chart.helm import Json
from property import strategies
from property.checks import third_outcome
from property.renderer import Question, Renderer

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES") or 0)
DEFAULT = 2000
SHARES = {"near": 0.75, "schema": 0.25}
"""Part of all examples that a strategy gets."""


API_VERSIONS = (
    (),
    ("keda.sh/v1alpha1", "gateway.networking.k8s.io/v1"),
    ("inference.sagemaker.aws.amazon.com/v1/InferenceEndpointConfig",),
)


def _questions(values: st.SearchStrategy[Json]) -> st.SearchStrategy[Question]:
    return st.builds(
        Question,
        values,
        name=st.sampled_from(strategies.RELEASES),
        namespace=st.sampled_from(strategies.NAMESPACES),
        kube_version=st.sampled_from(("", "1.30.0", "v1.36.2-eks-1234567")),
        api_versions=st.sampled_from(API_VERSIONS),
    )


STRATEGIES = {"near": _questions(strategies.near_cases()), "schema": _questions(strategies.from_schema())}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_good_objects_or_our_message(
    renderer: Renderer, strategy: str, record_property: Callable[[str, object], None]
) -> None:
    outcomes: Counter[str] = Counter()

    @settings(
        max_examples=round((EXAMPLES or DEFAULT) * SHARES[strategy]),
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(STRATEGIES[strategy])
    def holds(question: Question) -> None:
        answer = renderer.ask(question)
        fault = third_outcome(question, answer)
        assert not fault, fault
        outcomes["refused" if answer.error else "rendered" if answer.objects else "empty"] += 1

    holds()
    record_property("outcomes", f"{strategy}: {outcomes.total()} trees, {dict(outcomes)}")
    # Trees that all end at a fault would show nothing about objects, and the other way round.
    for outcome in ("rendered", "refused"):
        assert outcomes[outcome] >= outcomes.total() * 0.1, outcomes
