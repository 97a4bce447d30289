"""What the Inference Operator would refuse late, or take and get wrong, is refused at rendering: one message each."""

from __future__ import annotations

import copy

import pytest

from chart.cases import AMP, HYPERPOD, HYPERPOD_MULTI_PROCESS
from chart.helm import Helm, Json, Refused, merged, model, overlay

HUB: Json = {"id": "org/Model", "revision": "0123456789" * 4}
AFFINITY: Json = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]
    }
}
KVAWARE: Json = {"strategy": "kvaware"}
COMPLETIONS: Json = {"invocationEndpoint": "v1/completions"}


def own(**keys: object) -> Json:
    return model(hyperpod=keys)


def scaled(keda: Json | None = None, **keys: object) -> Json:
    query = {"serverAddress": AMP, "query": "sum(a)", "threshold": 5}
    return model(autoscaling={"enabled": True, "keda": query if keda is None else keda, **keys})


def triggers(kind: str, *entries: Json) -> Json:
    return merged(model(autoscaling={"enabled": True}), own(autoscaling={kind: [*entries]}))


REFUSALS: dict[str, tuple[Json, list[str]]] = {
    "long name with a router": (
        {"nameOverride": "a" * 30},
        ['models: "tiny"', "have 50 characters together", "46 are possible with its router", "by 4 characters"],
    ),
    "long name without a router": (
        {"nameOverride": "a" * 31, **own(intelligentRouting=False)},
        ['models: "tiny"', "have 51 characters together", "50 are possible", "by 1 characters"],
    ),
    "endpoint name in capitals": (
        own(endpointName="Tiny_1"),
        ['models.tiny.hyperpod.endpointName: "Tiny_1"', "for example tiny-1"],
    ),
    "metrics on another port": (
        own(metrics={"port": 8080}),
        ["models.tiny.hyperpod.metrics.port: 8080", "on the port of its requests, 8000"],
    ),
    "health path": (
        own(loadBalancer={"healthCheckPath": "/ping"}),
        ['models.tiny.hyperpod.loadBalancer.healthCheckPath: "/ping"', "set it to /health"],
    ),
    "kvaware for chat": (
        model(routing=KVAWARE),
        ['hyperpod.invocationEndpoint: "v1/chat/completions"', "completions only", "set it to v1/completions"],
    ),
    "kvaware for SageMaker's path": (
        model(routing=KVAWARE, hyperpod={"invocationEndpoint": "invocations"}),
        ['hyperpod.invocationEndpoint: "invocations"', "completions only"],
    ),
    "kvaware without L1": (
        model(routing=KVAWARE, hyperpod=COMPLETIONS, cache={"l1": {"enabled": False}, "l2": {"enabled": False}}),
        ['models.tiny.routing.strategy: "kvaware"', "cache.l1.enabled is false"],
    ),
    "kvaware with an old vLLM": (
        model(
            routing=KVAWARE,
            hyperpod=COMPLETIONS,
            engine={
                "versions": {"vllm": "0.19.0", "lmcache": "0.4.3"},
                "image": {"repository": "a/b", "tag": "c"},
                "acknowledge": {"unknownPair": True},
            },
        ),
        ['engine.versions.vllm: "0.19.0"', "needs 0.19.1 or newer"],
    ),
    "kvaware with an old LMCache": (
        model(
            routing=KVAWARE,
            hyperpod=COMPLETIONS,
            engine={
                "versions": {"vllm": "0.19.1", "lmcache": "0.4.2"},
                "image": {"repository": "a/b", "tag": "c"},
                "acknowledge": {"unknownPair": True},
            },
        ),
        ['engine.versions.lmcache: "0.4.2"', "needs 0.4.3 or newer"],
    ),
    "types and affinity": (
        model(affinity={"nodeAffinity": AFFINITY}),
        ['instanceTypes: ["ml.g6e.4xlarge"]', "not both", "keep one"],
    ),
    "node selector": (model(nodeSelector={"a": "b"}), ['models.tiny.nodeSelector: {"a":"b"}', "affinity.nodeAffinity"]),
    "runtime class": (model(runtimeClassName="nvidia"), ['models.tiny.runtimeClassName: "nvidia"', "no such field"]),
    "reserved volume": (
        own(modelVolume="model-weights-copy"),
        ['hyperpod.modelVolume: "model-weights-copy"', "the operator has a volume of its own of this name"],
    ),
    "the chart's volume": (own(modelVolume="tkc-l2"), ['"tkc-l2"', "the chart has a volume of this name"]),
    "reserved environment": (
        model(engine={"env": {"NODE_IP": "1"}}),
        ['models.tiny.engine.env.NODE_IP: "1"', "the operator sets this variable"],
    ),
    "reserved environment by prefix": (
        model(engine={"env": {"LMCACHE_CONTROLLER_PULL_URL": "a"}}),
        ["engine.env.LMCACHE_CONTROLLER_PULL_URL", "the operator sets this variable"],
    ),
    "the patch's environment": (
        model(engine={"env": {"LMCACHE_REMOTE_URL": "fs://a"}}),
        ["engine.env.LMCACHE_REMOTE_URL", "the chart owns this variable"],
    ),
    "a reserved label": (own(labels={"app": "a"}), ['hyperpod.labels: "app"', "the operator's"]),
    "a label that is none": (own(labels={"-a/b": "a"}), ['hyperpod.labels: "-a/b"', "no legal key"]),
    "a label's value": (own(labels={"a": "b c"}), ['hyperpod.labels: {"a":"b c"}', "at most 63"]),
    "deploy time": (
        own(maxDeployTimeInSeconds=600),
        ["hyperpod.maxDeployTimeInSeconds: 600", "probes.startup.budget is 900", "set it to 1500 or more"],
    ),
    "key with a router": (
        {"apiKey": {"secretName": "key"}},
        ['apiKey.secretName: "key"', "401", "hyperpod.intelligentRouting: false"],
    ),
    "where routers run": (
        model(routing={"nodeSelector": {"a": "b"}}),
        ['models.tiny.routing.nodeSelector: {"a":"b"}', "the operator runs the router"],
    ),
    "two routers": (model(routing={"replicas": 2}), ["models.tiny.routing.replicas: 2", "set it to 1"]),
    "limits without metrics": (
        own(metrics={"enabled": False}, requestLimits={"maxConcurrentRequests": 3}),
        ['hyperpod.requestLimits: {"maxConcurrentRequests":3', "hyperpod.metrics.enabled is false"],
    ),
    "a queue without a limit": (
        own(requestLimits={"maxQueueSize": 3}),
        ["hyperpod.requestLimits:", "without maxConcurrentRequests nothing is limited"],
    ),
    "half a certificate": (
        own(tlsConfig={"customCertificateConfig": {"domainName": "a.example.com"}}),
        ["hyperpod.tlsConfig.customCertificateConfig", "give acmArn, too"],
    ),
    "DNS without a certificate": (
        own(dnsConfig={"hostedZoneId": "Z1"}),
        ['hyperpod.dnsConfig.hostedZoneId: "Z1"', "set hyperpod.tlsConfig.customCertificateConfig"],
    ),
    "records that say nothing": (
        own(dataCapture={"modelPod": {"batchSize": 3}}),
        ["hyperpod.dataCapture.modelPod", "add enabled: true or false"],
    ),
    "records without a place": (
        own(dataCapture={"modelPod": {"enabled": True}}),
        ["models.tiny.hyperpod.dataCapture:", "set hyperpod.dataCapture.s3Uri"],
    ),
    "annotations for 3.2": (
        model(podAnnotations={"a": "b"}),
        ['models.tiny.podAnnotations: {"a":"b"}', "operator 3.2, which is assumed, has no field", 'version: "3.6"'],
    ),
    "annotations for 3.5": (
        {"inferenceOperator": {"version": "3.5"}, **model(podAnnotations={"a": "b"})},
        ["operator 3.5 has no field for it; operator 3.6 has", 'version: "3.6"'],
    ),
    "tolerations for 3.6": (
        {"inferenceOperator": {"version": "3.6"}, **model(tolerations=[{"operator": "Exists"}])},
        ["models.tiny.tolerations:", "operator 3.6 has no field for it; operator 3.7 has"],
    ),
    "priority for 3.6": (
        {"inferenceOperator": {"version": "v3.6.1"}, **model(priorityClassName="high")},
        ['priorityClassName: "high"', "operator v3.6.1 has no field"],
    ),
    "idle time for 3.2": (
        own(loadBalancer={"idleTimeoutSeconds": 60}),
        ["hyperpod.loadBalancer.idleTimeoutSeconds: 60", 'version: "3.3"'],
    ),
    "queue labels": (
        {
            "inferenceOperator": {"version": "3.7"},
            **model(podLabels={"kueue.x-k8s.io/queue-name": "retail"}),
        },
        ["models.tiny.podLabels:", "operator 3.7 has no field", "none that is known has one", "hyperpod.labels"],
    ),
    "multi-process for 3.6": (
        {"inferenceOperator": {"version": "3.6"}, **model(engine={"lmcacheMode": "multiProcess"})},
        ['engine.lmcacheMode: "multiProcess"', "operator 3.7 has", "set it to inProcess or auto"],
    ),
    "chunks of the operator's server": (
        merged(HYPERPOD_MULTI_PROCESS, model(cache={"chunkSize": 1024})),
        ["cache.chunkSize: 1024", "set it to 256"],
    ),
    "eager prefetch": (
        merged(HYPERPOD_MULTI_PROCESS, model(cache={"eagerPrefetch": True})),
        ["cache.eagerPrefetch: true", "which the operator writes"],
    ),
    "in-process on a CPU": (
        model(engine={"device": "cpu"}),
        ['lmcacheMode: "auto"', "use multiProcess, with operator 3.7 or newer"],
    ),
    "version as a number": (
        {"inferenceOperator": {"version": 3.7}},
        ["inferenceOperator.version: 3.7", 'quote it: version: "3.7"'],
    ),
    "no version": ({"inferenceOperator": {"version": "new"}}, ['inferenceOperator.version: "new"', "not a version"]),
    "old version": ({"inferenceOperator": {"version": "3.1"}}, ['inferenceOperator.version: "3.1"', "older than 3.2"]),
    "no operator": (
        {"inferenceOperator": {"mode": "none"}},
        ['inferenceOperator.mode: "none"', "only the operator runs"],
    ),
    "gateway": ({"gateway": {"enabled": True}}, ["gateway.enabled: true", "a load balancer of its own"]),
    "pull secrets": (
        {"imagePullSecrets": [{"name": "regcred"}]},
        ["imagePullSecrets:", "defaults.hyperpod.serviceAccountName"],
    ),
    "weights in the image": (
        model(source={"claim": None, "imagePath": {"path": "/opt/model"}}),
        ["models.tiny.source.imagePath", "always mounts a volume"],
    ),
    "mirror of the Hub": (
        model(source={"claim": None, "huggingFace": {**HUB, "endpoint": "https://hub.example.com"}}),
        ["models.tiny.source.huggingFace.endpoint", "no such field"],
    ),
    "a name that is no repository": (
        model(source={"claim": None, "huggingFace": {**HUB, "id": "Model"}}),
        ['source.huggingFace.id: "Model"', "<organisation>/<name>"],
    ),
    "a branch": (
        model(source={"claim": None, "huggingFace": {**HUB, "revision": "main"}}),
        ['source.huggingFace.revision: "main"', "40 hexadecimal digits"],
    ),
    "bucket without region": (
        model(source={"claim": None, "s3": {"bucket": "b-1"}}),
        ["models.tiny.source.s3.region", "for example us-west-2"],
    ),
    "another S3": (
        model(source={"claim": None, "s3": {"bucket": "b-1", "region": "a", "endpoint": "https://s3.example.com"}}),
        ["models.tiny.source.s3.endpoint", "no such field"],
    ),
    "keys of S3": (
        model(
            source={
                "claim": None,
                "s3": {"bucket": "b-1", "region": "us-west-2", "credentialsSecret": {"name": "keys"}},
            }
        ),
        ["models.tiny.source.s3.credentialsSecret.name", "its own role"],
    ),
    "FSx without ID": (
        model(source={"claim": None, "fsx": {"path": "a"}}),
        ["models.tiny.source.fsx.fileSystemId", "fs-0123456789abcdef0"],
    ),
    "FSx path": (
        model(source={"claim": None, "fsx": {"fileSystemId": "fs-0123456789abcdef0", "path": "../a"}}),
        ['models.tiny.source.fsx.path: "../a"', "without ., .. and empty parts"],
    ),
    "request above limit": (
        model(resources={"engine": {"requests": {"memory": "512Gi"}}}),
        ["resources.engine.requests.memory", "more than", "raise the limit or lower the request"],
    ),
    "GPUs that differ": (
        model(resources={"engine": {"limits": {"nvidia.com/gpu": 8}}}),
        ["resources.engine.limits.nvidia.com/gpu: 8", "= 1 GPUs"],
    ),
    "two scalers": (scaled(type="hpa"), ['autoscaling.type: "hpa"', "its own KEDA"]),
    "nothing to scale by": (scaled({}), ["models.tiny.autoscaling.enabled: true", "nothing to scale by"]),
    "bounds": (scaled(minReplicas=5), ["models.tiny.autoscaling.minReplicas: 5", "maxReplicas: 4"]),
    "another Prometheus": (
        scaled({"serverAddress": "http://prometheus:9090", "query": "a", "threshold": 5}),
        ["autoscaling.keda.serverAddress", "Amazon Managed Service for Prometheus only"],
    ),
    "no threshold": (
        scaled({"serverAddress": AMP, "query": "a"}),
        ["autoscaling.keda.threshold", "not a number above 0"],
    ),
    "fallback": (
        scaled({"serverAddress": AMP, "query": "a", "threshold": 5, "fallbackReplicas": 2}),
        ["autoscaling.keda.fallbackReplicas: 2", "no such field"],
    ),
    "a trigger of another Prometheus": (
        triggers("prometheusTriggers", {"serverAddress": "http://a", "query": "a", "targetValue": 1}),
        ["hyperpod.autoscaling.prometheusTriggers", "serverAddress of entry 1"],
    ),
    "a trigger without query": (
        triggers("prometheusTriggers", {"serverAddress": AMP, "query": "", "targetValue": 1}),
        ["hyperpod.autoscaling.prometheusTriggers", "entry 1 has no query"],
    ),
    "a trigger without metric": (
        triggers("cloudWatchTriggers", {"namespace": "a", "metricName": None, "targetValue": 1}),
        ["hyperpod.autoscaling.cloudWatchTriggers", "entry 1 has no metricName"],
    ),
    "a dimension without name": (
        triggers(
            "cloudWatchTriggers",
            {"namespace": "a", "metricName": "b", "targetValue": 1, "dimensions": [{"name": "", "value": "a"}]},
        ),
        ["a dimension of entry 1 has no name or no value"],
    ),
}
REFUSALS["Pod affinity"] = (
    model(
        affinity={
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
                ]
            }
        }
    ),
    ["models.tiny.affinity.podAffinity", "no such field", "affinity.nodeAffinity is possible"],
)


@pytest.mark.parametrize("name", REFUSALS)
def test_refused_with_one_message(helm: Helm, name: str) -> None:
    values, wanted = REFUSALS[name]
    helm.assert_refused(merged(HYPERPOD, values), wanted)


def test_two_names_just_fit(helm: Helm) -> None:
    assert helm.template(HYPERPOD, {"nameOverride": "a" * 26}).of("InferenceEndpointConfig")
    routed = merged(HYPERPOD, {"nameOverride": "a" * 30}, own(intelligentRouting=False))
    assert helm.template(routed).of("InferenceEndpointConfig")


def test_several_faults_are_reported_together(helm: Helm) -> None:
    values = merged(HYPERPOD, {"gateway": {"enabled": True}}, own(endpointName="A", metrics={"port": 1}))
    message = helm.refusal(values)
    assert "3 faults in the values" in message


def test_fsx_is_hyperpods(helm: Helm) -> None:
    source = model(source={"claim": None, "fsx": {"fileSystemId": "fs-0123456789abcdef0"}})
    helm.assert_refused(source, ["models.tiny.source.fsx", "only the Inference Operator", "set platform: hyperpod"])


def test_what_only_endpoints_have_is_not_looked_at_elsewhere(helm: Helm) -> None:
    plain = helm.template().text
    assert helm.template(own(endpointName="A", metrics={"port": 1}, modelVolume="tkc-l2")).text == plain


@pytest.mark.parametrize("key", ["hyperpod", "routing", "instanceTypes", "autoscaling"])
def test_null_is_nothing(helm: Helm, key: str) -> None:
    try:
        found = helm.template(HYPERPOD, model(**{key: None})).of("InferenceEndpointConfig")
        assert found[0]["spec"]["invocationEndpoint"]
    except Refused as refused:
        assert "null deletes the default" in str(refused)


def test_defaults_are_named_where_they_stand(helm: Helm) -> None:
    values = copy.deepcopy(overlay(HYPERPOD))
    values["defaults"]["hyperpod"] = {"loadBalancer": {"healthCheckPath": "/"}}
    helm.assert_refused(values, ['defaults.hyperpod.loadBalancer.healthCheckPath: "/"'])
