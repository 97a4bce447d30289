"""The verb `l2-patch` and its arguments, apart from the programs: other verbs run in images that lack their libraries."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    patch = verbs.add_parser("l2-patch", help="the webhook that gives L2 to the Pods of AWS's operator")
    parts = patch.add_subparsers(dest="part", required=True, metavar="PART")
    serve = parts.add_parser("serve", help="answer the API server; no access to the API")
    serve.set_defaults(run=_serve)
    serve.add_argument("--parameters", required=True, type=Path, metavar="DIR", help="the parameter ConfigMap's mount")
    serve.add_argument("--certificate", required=True, type=Path, metavar="DIR", help="folder of tls.crt and tls.key")
    serve.add_argument("--port", type=int, default=9443, help="of HTTPS (9443)")
    serve.add_argument("--health-port", type=int, default=8080, help="of /healthz, /readyz and /metrics, HTTP (8080)")
    serve.add_argument(
        "--drain", type=float, default=10.0, metavar="SECONDS", help="go on so long after SIGTERM, unready (10)"
    )
    serve.add_argument(
        "--drain-deadline", type=float, default=5.0, metavar="SECONDS", help="then, for requests under way (5)"
    )
    certificate = parts.add_parser("certificate", help="make or renew the webhook's certificate (hook, and every day)")
    certificate.set_defaults(run=_certificate)
    certificate.add_argument("--namespace", required=True, help="of Secret and Service")
    certificate.add_argument("--secret", required=True, metavar="NAME", help="which holds certificates and keys")
    certificate.add_argument("--service", required=True, metavar="NAME", help="that the API server calls")
    certificate.add_argument("--webhook", metavar="NAME", help="MutatingWebhookConfiguration that gets the caBundle")
    certificate.add_argument(
        "--webhook-optional", action="store_true", help="that configuration may be missing: before an install"
    )
    certificate.add_argument(
        "--issued",
        action="store_true",
        help="another controller fills the Secret: only bring its ca.crt into the caBundle",
    )
    certificate.add_argument("--kubeconfig", metavar="FILE", help="outside the cluster; else $KUBECONFIG")
    certificate.add_argument("--context", help="context of the kubeconfig")


def _serve(args: argparse.Namespace) -> int:
    from . import serve  # noqa: PLC0415

    return 0 if serve.main(args) else 1


def _certificate(args: argparse.Namespace) -> int:
    from . import certificate  # noqa: PLC0415

    return 0 if certificate.main(args) else 1
