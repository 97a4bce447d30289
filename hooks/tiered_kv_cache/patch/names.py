"""Names of the L2 patch that the chart shares, and those of AWS's operator."""

from __future__ import annotations

from .. import names

LABEL_OPERATOR = ("deploying-service", "hyperpod-inference")
LABEL_MODEL = "app"
"""Its value is the name of the InferenceEndpointConfig, and of the container that vLLM runs in."""
NEVER = frozenset({"kube-system", "kube-public", "kube-node-lease"})
"""Namespaces whose Pods are never touched."""

ANNOTATION = f"{names.DOMAIN}/l2-patch"
VERSION = "v1"

VOLUME_L2 = "tkc-l2"
VOLUME_RUN = "tkc-run"
RUN_PATH = "/run/tkc"
CODE_PATH = f"{RUN_PATH}/code"
INIT_ROOT = "tkc-l2-root"
INIT_CODE = "tkc-code"

ENV_POD_NAME = names.ENV_POD_NAME
ENV_HASH_SEED = names.ENV_HASH_SEED
ENV_PYTHON_PATH = "PYTHONPATH"
ENV_URL = "LMCACHE_REMOTE_URL"
ENV_SERDE = "LMCACHE_REMOTE_SERDE"
ENV_EXTRA = "LMCACHE_EXTRA_CONFIG"
ENV_FILE = "LMCACHE_CONFIG_FILE"

TMP_DIR = f"tmp-$({ENV_POD_NAME})"
"""Directory of a Pod's unfinished blocks below the base path; the kubelet puts the Pod's name in."""
