"""Sets of values that exercise all of the chart; what must hold for every render is checked on each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from chart.helm import REPO, Json, merged, model, overlay

VALUES_FILES: list[Path] = sorted((REPO / "values").glob("*.yaml"))

NUMBERS: Json = {
    "l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/srv/kv"}, "size": 1099511627776}},
    "hooks": {
        "verify": {"deadlineSeconds": 1000000},
        "storageCheck": {"deadlineSeconds": 1000000, "fileSize": 10000000},
        "preflight": {"deadlineSeconds": 1000000},
        "patchCheck": {"deadlineSeconds": 1000000},
    },
    "models": {
        "tiny": {
            "replicas": 1000000,
            "servedName": "org/Tiny-1e6",
            "engine": {
                "maxModelLen": 1048576,
                "args": ["--max-num-batched-tokens", 2097152, "--rope-scaling", 1e-5],
                "env": {"VLLM_RPC_TIMEOUT": 1200000, "FLAG": True},
            },
            "cache": {"l1": {"memory": 42949672960}, "hashSeed": 4294967295, "chunkSize": 1048576},
            "resources": {
                "lmcache": {"limits": {"memory": 64424509440}},
                "engine": {"limits": {"memory": 68719476736, "cpu": 1000000}},
            },
            "probes": {"startup": {"budget": 3600000}},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600000}],
            "terminationGracePeriodSeconds": 1000000,
        }
    },
}
"""Whole numbers of a million and more, without quotes, at every key that takes one."""
NUMBERS["hooks"]["verify"]["promptTokens"] = 1048577
NUMBERS["models"]["tiny"]["engine"]["maxModelLen"] = 2097152

POOL_VOLUME: Json = {"type": "curvine", "claimName": "", "hostPath": {"path": ""}}

OBSERVED: Json = {
    "networkPolicy": {"metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]},
    "observability": {
        "podMonitors": {"enabled": True, "labels": {"release": "monitoring"}},
        "alerts": {"enabled": True, "labels": {"release": "monitoring"}},
    },
}
"""All that Prometheus Operator can be told."""

HYPERPOD: Json = {
    "platform": "hyperpod",
    "defaults": {
        "engine": {"device": "cuda"},
        "resources": {"engine": {"limits": {"memory": "32Gi"}}},
        "instanceTypes": ["ml.g6e.4xlarge"],
    },
}
"""What makes an endpoint of the smallest model."""

AMP = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-0123"

HYPERPOD_EVERYTHING: Json = {
    "inferenceOperator": {"version": "3.7"},
    "defaults": {"instanceTypes": ["ml.g6e.4xlarge", "g6e.8xlarge"]},
    "models": {
        "tiny": {
            "source": {"claim": None, "s3": {"bucket": "b-1", "prefix": "m/tiny/", "region": "eu-west-1"}},
            "routing": {"strategy": "session"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "value": None}],
            "podAnnotations": {"example.com/note": "a: b"},
            "priorityClassName": "high",
            "autoscaling": {
                "enabled": True,
                "minReplicas": 2,
                "maxReplicas": 1000000,
                "keda": {"serverAddress": AMP, "query": 'sum(a{b="c"})', "threshold": "1000000"},
            },
            "hyperpod": {
                "endpointName": "tiny-1",
                "modelVersion": "1000000",
                "prefetchEnabled": True,
                "modelVolume": "weights",
                "maxDeployTimeInSeconds": 1000000,
                "serviceAccountName": "engine",
                "schedulerName": "kueue",
                "labels": {"kueue.x-k8s.io/queue-name": "retail"},
                "tags": {"team": "retail"},
                "requestLimits": {"maxConcurrentRequests": 1000000, "maxQueueSize": 0, "overflowStatusCode": 503},
                "metrics": {"scrapeIntervalSeconds": 300, "port": 8000},
                "loadBalancer": {"routingAlgorithm": "round_robin", "idleTimeoutSeconds": 4000},
                "tlsConfig": {
                    "tlsCertificateOutputS3Uri": "s3://certificates/retail",
                    "customCertificateConfig": {
                        "acmArn": "arn:aws:acm:us-west-2:123456789012:certificate/0123abcd-0123",
                        "domainName": "tiny.example.com",
                    },
                },
                "dnsConfig": {"hostedZoneId": "Z0123456789"},
                "autoscaling": {
                    "initialCooldownPeriod": 0,
                    "scaleUpStabilizationTime": 0,
                    "scaleDownStabilizationTime": 1000000,
                    "cloudWatchTriggers": [
                        {
                            "namespace": "AWS/SageMaker",
                            "metricName": "Invocations",
                            "targetValue": 1000000,
                            "metricStat": None,
                            "dimensions": [{"name": "EndpointName", "value": "tiny-1"}],
                        }
                    ],
                    "prometheusTriggers": [{"serverAddress": AMP, "query": "sum(a)", "targetValue": 5}],
                },
                "dataCapture": {
                    "s3Uri": "s3://records/retail",
                    "loadBalancer": {"enabled": True},
                    "sagemakerEndpoint": {"enabled": True, "captureModes": ["Input"], "csvContentTypes": ["text/csv"]},
                    "modelPod": {
                        "enabled": True,
                        "initialSamplingPercentage": 100,
                        "maxPayloadSizeKB": 10240,
                        "batchSize": 1000,
                        "flushIntervalSeconds": 300,
                        "kmsKeyId": None,
                    },
                },
            },
        }
    },
}
"""Every key that only an endpoint has, and a newer operator."""

HYPERPOD_MULTI_PROCESS: Json = {
    "platform": "hyperpod",
    "inferenceOperator": {"version": "3.7"},
    "models": {"tiny": {"engine": {"lmcacheMode": "multiProcess"}}},
}
"""On CPUs, as the emulated operator runs it."""

ON_HYPERPOD: dict[str, Json] = {
    "gpu": {
        "apiKey": {"secretName": ""},
        "gateway": {"enabled": False},
        "defaults": {"tolerations": []},
        "models": {"assistant": {"autoscaling": {"keda": {"serverAddress": AMP, "fallbackReplicas": None}}}},
    },
    "assistant": {
        "apiKey": {"secretName": ""},
        "gateway": {"enabled": False, "exclusive": False},
        "models": {
            "assistant": {
                "autoscaling": {"keda": {"serverAddress": AMP, "fallbackReplicas": None}},
                "podLabels": None,
                "tolerations": [],
            }
        },
    },
    "documents": {"inferenceOperator": {"version": "3.7"}, "models": {"documents": {"podLabels": None}}},
    "batch": {"inferenceOperator": {"version": "3.7"}, "models": {"summaries": {"podLabels": None}}},
    "regulated": {
        "inferenceOperator": {"version": "3.7"},
        "apiKey": {"secretName": ""},
        "gateway": {"enabled": False, "exclusive": False},
        "defaults": {"podLabels": None, "nodeSelector": None, "routing": {"nodeSelector": None}},
    },
    "single": {"inferenceOperator": {"version": "3.7"}, "gateway": {"enabled": False}},
    "walkthrough": {"models": {"qwen2-7b-instruct-kvcache": {"tolerations": []}}},
    "local": {
        "inferenceOperator": {"version": "3.7"},
        "defaults": {"engine": {"lmcacheMode": "multiProcess"}},
    },
}
"""What the values files that were made for Deployments must change to become endpoints, by their names."""


def on_hyperpod(name: str, values: Json) -> Json:
    """The values of a file with platform hyperpod."""
    return merged(values, {"platform": "hyperpod"}, ON_HYPERPOD[name])


def l2_patch(**change: Any) -> Json:
    """A layer that changes the L2 patch."""
    return {"inferenceOperator": {"l2Patch": change}}


PATCHED_NAMESPACES: Json = {
    "cards": {"models": ["*"], "claimName": "kv-l2", "mountPath": "/mnt/kv-l2", "hashSeed": 1000000},
    "loans": {
        "models": ["llama", "qwen"],
        "claimName": "kv-l2",
        "mountPath": "/mnt/l2/",
        "propagation": "HostToContainer",
        "hashSeed": "0",
        "adapter": "fs",
        "engines": {
            "llama": {"root": "/mnt/l2/v1/loans/llama/0123456789abcdef", "image": "vllm:1", "configFile": "wins"}
        },
    },
}
"""Namespaces of endpoints that the release does not render, with every key."""

CASES: dict[str, Json] = {
    **{file.stem: yaml.safe_load(file.read_text()) for file in VALUES_FILES},
    **{
        f"{file.stem}-on-hyperpod": on_hyperpod(file.stem, yaml.safe_load(file.read_text()))
        for file in VALUES_FILES
        if file.stem in ON_HYPERPOD
    },
    "minimal": overlay(),
    "isolated": overlay(
        {
            "cacheSalt": {"secretName": "salts"},
            "networkPolicy": {"clientsFrom": [{"podSelector": {"matchLabels": {"client-of": "retail"}}}]},
            "gateway": {"enabled": True},
        }
    ),
    "hyperpod-claim": overlay(HYPERPOD),
    "hyperpod-everything": overlay(HYPERPOD, HYPERPOD_EVERYTHING),
    "hyperpod-multi-process": overlay(HYPERPOD_MULTI_PROCESS),
    "hyperpod-fs-adapter": overlay(HYPERPOD_MULTI_PROCESS, model(cache={"l2": {"adapter": "fs"}})),
    "hyperpod-without-l2": overlay(HYPERPOD, model(cache={"l2": {"enabled": False}})),
    "hyperpod-no-cache": overlay(
        HYPERPOD, model(cache={"l0": {"enabled": False}, "l1": {"enabled": False}, "l2": {"enabled": False}})
    ),
    "hyperpod-fsx": overlay(
        HYPERPOD,
        {"apiKey": {"secretName": "keys"}, "defaults": {"instanceTypes": []}},
        model(
            source={"claim": None, "fsx": {"fileSystemId": "fs-0123456789abcdef0", "mountName": "m", "path": "/m/t/"}},
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                }
            },
            engine={"env": {"VLLM_RPC_TIMEOUT": 1200000}, "args": ["--max-num-batched-tokens", 2097152]},
            cache={"chunkSize": 1024},
            hyperpod={"intelligentRouting": False},
        ),
    ),
    "hyperpod-own-pool": overlay(
        HYPERPOD,
        {
            "l2": {"volume": POOL_VOLUME},
            "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}},
            **OBSERVED,
        },
    ),
    "numbers": overlay(NUMBERS),
    "own-pool": overlay(
        {
            "l2": {"volume": POOL_VOLUME},
            "curvine": {
                "workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}, "hostNetwork": True},
                "config": {"worker": {"io_threads": 16}},
                "linesOfBusiness": ["cards"],
                "teardown": {"force": True, "deadlineSeconds": 1000000},
            },
        }
    ),
    "observed": overlay(
        {
            "l2": {"volume": POOL_VOLUME},
            "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}, "masters": {"replicas": 3}},
            "gateway": {"enabled": True},
            **OBSERVED,
        }
    ),
    "pool-of-another-release": overlay(
        {"l2": {"volume": POOL_VOLUME}, "curvine": {"pool": {"release": "platform", "namespace": "kv", "masters": 3}}}
    ),
    "own-pool-by-csi": overlay(
        {
            "l2": {"volume": POOL_VOLUME},
            "curvine": {"workers": {"disk": {"path": "/mnt/nvme", "size": "100Gi"}}, "client": {"mode": "csi"}},
        }
    ),
    "pool-of-another-release-by-csi": overlay(
        {
            "l2": {"volume": POOL_VOLUME},
            "curvine": {"pool": {"release": "platform", "namespace": "kv"}, "client": {"mode": "csi"}},
        }
    ),
    "no-l2": overlay({"l2": {"enabled": False}}),
    "model-without-l2": overlay(model(cache={"l2": {"enabled": False}})),
    "no-cache": overlay(model(cache={"l0": {"enabled": False}, "l1": {"enabled": False}, "l2": {"enabled": False}})),
    "image-path": overlay(model(source={"claim": None, "imagePath": {"path": "/opt/model"}})),
    "hugging-face": overlay(
        {"modelStore": {"type": "hostPath", "hostPath": {"path": "/srv/models"}, "size": 1099511627776}},
        model(
            source={
                "claim": None,
                "huggingFace": {"id": "org/Model", "revision": "0123456789" * 4, "tokenSecret": {"name": "hub-reader"}},
                "identity": "full",
            },
            engine={"env": {"HTTPS_PROXY": "http://proxy:3128", "no_proxy": ".svc"}},
        ),
    ),
    "buckets": overlay(
        {
            "modelStore": {
                "size": 21474836480,
                "deadlineSeconds": 1000000,
                "serviceAccountAnnotations": {"a.b/c": "1000000"},
            },
            "models": {
                "mounted": {
                    "source": {"s3": {"bucket": "b-1", "prefix": "m/", "region": "eu-west-1", "mode": "mountpoint"}}
                },
            },
        },
        model(
            source={
                "claim": None,
                "s3": {"bucket": "b-1", "endpoint": "https://s3.example.com", "credentialsSecret": {"name": "keys"}},
            }
        ),
    ),
    "gpu": overlay(
        {"apiKey": {"secretName": "keys"}},
        model(
            engine={"device": "cuda", "tensorParallelSize": 2, "pipelineParallelSize": 2, "shmSize": 8589934592},
            cache={"l1": {"memory": 64424509440}, "eagerPrefetch": True},
            resources={
                "engine": {"limits": {"memory": 137438953472, "nvidia.com/gpu": 4, "vpc.amazonaws.com/efa": 1}},
                "lmcache": {"limits": {"memory": "64Gi"}},
            },
        ),
    ),
    "gpu-in-process": overlay(
        model(
            engine={"device": "cuda", "lmcacheMode": "inProcess", "acknowledge": {"loraWithCache": True}},
            resources={"engine": {"limits": {"memory": "16Gi", "nvidia.com/mig-3g.20gb": 1}}},
        ),
        model(engine={"args": ["--enable-lora"], "gpuMemoryUtilization": 1}),
    ),
    "two-models": overlay({"models": {"other": {"source": {"claim": {"name": "models"}}}}}),
    "everything": overlay(
        {
            "nameOverride": "kv",
            "imagePullSecrets": [{"name": "regcred"}],
            "networkPolicy": {
                "metricsFrom": [
                    {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}},
                    {"ipBlock": {"cidr": "10.0.0.0/8"}},
                ]
            },
            "router": {"image": {"digest": "sha256:" + "a" * 64}},
            "defaults": {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"pool": "kv", "gpu": "false"}},
        },
        model(
            routing={"replicas": 2, "service": {"type": "LoadBalancer", "port": 8080}},
            engine={"args": ["--enable-log-requests", "--seed", 1], "env": {"A": 'it\'s "quoted" {{ }}'}},
        ),
    ),
    "lifecycle": overlay(
        {
            "apiKey": {"secretName": "key"},
            "models": {"other": {"replicas": 1, "source": {"claim": {"name": "models"}}}},
        },
        model(
            autoscaling={
                "enabled": True,
                "type": "hpa",
                "hpa": {
                    "metrics": [
                        {
                            "type": "External",
                            "external": {
                                "metric": {"name": "waiting"},
                                "target": {"type": "AverageValue", "averageValue": 1000000},
                            },
                        }
                    ]
                },
            },
            probes={"startup": {"completion": False}},
            rollout={"maxSurge": 1, "maxUnavailable": 0},
            spread={"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"},
            affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            priorityClassName="high",
            runtimeClassName="nvidia",
            instanceTypes=["g6.48xlarge", "p5.48xlarge"],
            podLabels={"team": "retail", "cost-centre": "4711000"},
        ),
    ),
    "kvaware": overlay(
        model(routing={"strategy": "kvaware", "replicas": 2}, cache={"chunkSize": 128}, engine={"blockSize": 128})
    ),
    "gateway": overlay(
        {
            "gateway": {
                "enabled": True,
                "exclusive": True,
                "replicas": 2,
                "service": {"type": "NodePort", "nodePort": 30081},
            }
        },
        model(routing={"strategy": "session", "circuitBreaker": {"enabled": True}, "retries": {"attempts": 1}}),
    ),
    "aws": overlay(
        {
            "hooks": {
                "aws": {
                    "enabled": True,
                    "apply": True,
                    "region": "eu-west-1",
                    "clusterName": "hp",
                    "roleArn": "arn:aws:iam::123456789012:role/bootstrap",
                    "deadlineSeconds": 1000000,
                    "addons": [{"name": "metrics-server", "configuration": {"replicas": 1000000, "text": "{{ }}"}}],
                }
            }
        }
    ),
    "no-models": {"models": {}},
    "l2-patch-by-policy": overlay(HYPERPOD, l2_patch(mechanism="policy", namespaces=PATCHED_NAMESPACES)),
    "l2-patch-by-webhook": overlay(
        HYPERPOD,
        {"networkPolicy": {"metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]}},
        l2_patch(
            mechanism="webhook",
            namespaces=PATCHED_NAMESPACES,
            webhook={
                "replicas": 3,
                "port": 10250,
                "certificate": {"source": "release", "deadlineSeconds": 1000000},
                "nodeSelector": {"pool": "system", "gpu": "false"},
                "tolerations": [
                    {"key": "system", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600000}
                ],
            },
        ),
    ),
    "l2-patch-of-others-by-cert-manager": {
        "networkPolicy": {"enabled": False},
        **l2_patch(
            mechanism="webhook",
            namespaces=PATCHED_NAMESPACES,
            webhook={"replicas": 1, "certificate": {"source": "certManager"}},
        ),
    },
    "no-policies": overlay(
        {
            "networkPolicy": {"enabled": False},
            "hooks": {name: {"enabled": False} for name in ("verify", "storageCheck", "preflight", "patchCheck")},
        }
    ),
    "nulls": overlay(
        {
            "imagePullSecrets": None,
            "networkPolicy": {"metricsFrom": None},
            "hooks": {"image": {"digest": None}, "resources": {"requests": None}},
            "l2": {"volume": {"hostPath": None}},
            "defaults": {
                **dict.fromkeys(("nodeSelector", "tolerations", "podAnnotations", "servedName", "source")),
                "engine": {"args": None, "env": None, "image": {"digest": None}},
                "routing": {"service": {"nodePort": None}},
                "resources": {"engine": {"limits": {"cpu": None}}, "router": {"requests": None}},
            },
            "models": {"gone": None},
        },
        model(
            engine={"env": {"GONE": None}}, resources={"lmcache": {"limits": {"cpu": None}}}, source={"imagePath": None}
        ),
    ),
}
