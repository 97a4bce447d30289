"""values/walkthrough.yaml says on plain Kubernetes what values/hyperpod.yaml says of AWS's operator, value by value."""

from __future__ import annotations

import json

from chart.cases import CASES
from chart.helm import Helm, environment, flag

MODEL = "qwen2-7b-instruct-kvcache"


def test_value_by_value(helm: Helm) -> None:
    plain, hyperpod = (helm.run("-f", "-", given=json.dumps(CASES[name])) for name in ("walkthrough", "hyperpod"))
    endpoint = hyperpod.get("InferenceEndpointConfig", f"demo-{MODEL}")["spec"]
    worker = endpoint["worker"]
    engine = plain.container("vllm")
    assert plain.get("Deployment", f"demo-{MODEL}-engine")["spec"]["replicas"] == endpoint["replicas"] == 2
    assert engine["image"] == worker["image"]
    assert engine["resources"] == worker["resources"]
    for name in ("--served-model-name", "--max-model-len", "--dtype", "--kv-cache-dtype"):
        assert flag(engine["args"], name) == flag(worker["args"], name)
    seeds = [environment(engine), {each["name"]: each.get("value") for each in worker["environmentVariables"]}]
    assert {each["PYTHONHASHSEED"] for each in seeds} == {"0"}
    sizes = {float(str(each["LMCACHE_MAX_LOCAL_CPU_SIZE"])) for each in seeds}
    assert sizes == {8.0}
    (l2,) = [each for each in plain.pod()["spec"]["volumes"] if each["name"] == "l2"]
    assert l2["persistentVolumeClaim"]["claimName"] == "curvine-pvc"
    fetch = environment(next(each for each in plain.pod()["spec"]["initContainers"] if each["name"] == "fetch"))
    source = json.loads(fetch["TKC_SOURCE"])["huggingFace"]
    assert source["id"] == endpoint["modelSourceConfig"]["huggingFaceModel"]["modelId"]
    assert endpoint["instanceType"] == f"ml.{CASES['walkthrough']['models'][MODEL]['instanceTypes'][0]}"
    assert flag(plain.container("router", "router")["args"], "--policy") == "cache_aware"
