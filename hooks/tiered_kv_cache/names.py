"""Names that the chart and the hooks share. The chart's named templates are the other half; change both together."""

DOMAIN = "tiered-kv-cache.io"

LABEL_INSTANCE = "app.kubernetes.io/instance"
LABEL_COMPONENT = "app.kubernetes.io/component"
LABEL_MODEL = f"{DOMAIN}/model"
COMPONENT_ENGINE = "engine"

ANNOTATION_CONFIG_HASH = f"{DOMAIN}/config-hash"
"""Hash of what the chart knows about a block's bytes; the L2 fingerprint adds the weights, which only a Pod can read."""
ANNOTATION_CHUNK_SIZE = f"{DOMAIN}/chunk-size"
ANNOTATION_MEMBERS = f"{DOMAIN}/curvine-members"
"""On a master's claim: which claims its group was first started with, as JSON (pool/claims.py)."""
ANNOTATION_POOL_MOUNT = f"{DOMAIN}/pool-mount"
"""On the Pod that mounts the pool on a node: each line of business, its mount's state, and since when."""

ANNOTATION_L2_PATCH = f"{DOMAIN}/l2-patch"
"""On a Pod of AWS's operator: the version of docs/l2-patch.md that it was patched by."""
L2_PATCH_VERSION = "v1"

CONTAINER_VLLM = "vllm"
CONTAINER_LMCACHE = "lmcache"
INIT_L2_ROOT = "l2-root"
INIT_FETCH = "fetch"

PORT_VLLM = ("http", 8000)
"""Name and usual number of vLLM's port."""
PORT_LMCACHE = ("lmcache-http", 8180)
"""Name and usual number of the LMCache server's HTTP port (health and metrics)."""

VOLUME_L2 = "l2"
L2_LINK = "/run/tkc/l2"
"""Where LMCache finds its L2 root in every Pod: the init container makes this symbolic link, once it knows the root."""
ENV_HASH_SEED = "PYTHONHASHSEED"
ENV_POD_NAME = "POD_NAME"
ENV_POD_UID = "POD_UID"
ENV_VERIFY = "TKC_VERIFY"
ENV_PREFLIGHT = "TKC_PREFLIGHT"
ENV_PATCH_CHECK = "TKC_PATCH_CHECK"
ENV_API_KEY = "VLLM_API_KEY"
"""The key that every engine asks for; vLLM reads the same variable."""
ENV_L2_CONFIG = "TKC_L2_CONFIG"
ENV_SOURCE = "TKC_SOURCE"
"""What fetch downloads, as JSON; tokens and keys have variables of their own."""
MODEL_MARKER = ".tkc-model.json"
"""File in a fetched model's folder that says where it is from, and names and sizes of its files."""

L2_CHECK_DIRECTORY = ".storage-check"
"""Directory of a line of business on the L2 volume, in which storage-check works and of which nothing is kept."""
L2_CONFIG_FILE = "config.json"
"""File in an L2 root that says what its fingerprint hashed."""
L2_TMP_PREFIX = ".tmp-"
"""Prefix of the per-Pod directory in an L2 root where LMCache writes before it renames."""
