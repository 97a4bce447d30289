"""A Kubernetes client for one kubeconfig."""

from __future__ import annotations

from pathlib import Path

from kubernetes import client, config


def api(kubeconfig: Path) -> client.ApiClient:
    """A client of the cluster in `kubeconfig`'s current context; leaves the process-wide configuration alone."""
    return config.new_client_from_config(config_file=str(kubeconfig))


def core(kubeconfig: Path) -> client.CoreV1Api:
    return client.CoreV1Api(api(kubeconfig))


def apps(kubeconfig: Path) -> client.AppsV1Api:
    return client.AppsV1Api(api(kubeconfig))
