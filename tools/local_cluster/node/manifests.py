"""The two manifests that kind applies from a node image: its storage class, and the network plugin.

kind's own network plugin is not published as a Go module; kube-router is, and it enforces NetworkPolicies.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

STORAGE = "pkg/build/nodeimage/const_storage.go"


def storage_images(kind_module: Path) -> tuple[str, str]:
    """References of the provisioner's and its helper's image, as kind's own manifest names them."""
    source = (kind_module / STORAGE).read_text()
    found = re.findall(r'^const storage(Provisioner|Helper)Image = "([^"]+)"', source, re.MULTILINE)
    images = dict(found)
    return images["Provisioner"], images["Helper"]


def storage(kind_module: Path) -> str:
    """kind's default StorageClass and local-path provisioner, from the module that holds them as a Go constant."""
    source = (kind_module / STORAGE).read_text()
    body = source.split("const defaultStorageManifest = `", 1)[1]
    provisioner, helper = storage_images(kind_module)
    body = body.replace("` + storageProvisionerImage + `", provisioner).replace("` + storageHelperImage + `", helper)
    return body.split("`", 1)[0]


def network(kube_router_module: Path, image: str) -> str:
    """kube-router's own manifest: local image, in-cluster configuration, hairpin, host ports, small requests."""
    documents = list(yaml.safe_load_all((kube_router_module / "daemonset/kubeadm-kuberouter.yaml").read_text()))
    for document in documents:
        if document["kind"] == "ConfigMap":
            config = json.loads(document["data"]["cni-conf.json"])
            config["plugins"][0]["hairpinMode"] = True
            config["plugins"].append({"type": "portmap", "capabilities": {"portMappings": True}})
            document["data"]["cni-conf.json"] = json.dumps(config, indent=1)
        if document["kind"] == "DaemonSet":
            _use_local(document["spec"]["template"]["spec"], image)
    return str(yaml.safe_dump_all(documents, sort_keys=False))


def _use_local(pod: dict[str, list[dict[str, object]]], image: str) -> None:
    for container in [*pod["containers"], *pod["initContainers"]]:
        container["image"], container["imagePullPolicy"] = image, "IfNotPresent"
        for key, unwanted in (("volumeMounts", "kubeconfig"), ("args", "--kubeconfig")):
            values = container.get(key)
            if isinstance(values, list):
                container[key] = [v for v in values if unwanted not in (v["name"] if isinstance(v, dict) else v)]
    pod["containers"][0]["resources"] = {"requests": {"cpu": "50m", "memory": "64Mi"}}
    pod["volumes"] = [volume for volume in pod["volumes"] if volume["name"] != "kubeconfig"]
