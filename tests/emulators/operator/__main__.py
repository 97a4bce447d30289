"""`python -m emulators.operator`: see --help. In a Pod, without --kubeconfig, it uses the Pod's own account."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path

import urllib3
from kubernetes import client, config

from .controller import Controller
from .options import VARIANTS, Images, Options
from .overrides import check


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="emulators.operator", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--version", default="3.2", help="the operator's, such as 3.7; another one is an upgrade")
    parser.add_argument(
        "--mode", choices=["InProcess", "MultiProcess"], default="", help="of IECs that name none; the version's"
    )
    for variant, meaning in VARIANTS.items():
        parser.add_argument(f"--{variant}", dest="variants", action="append_const", const=variant, help=meaning)
    parser.add_argument("--side-image", default="", help="with Python; in place of nginx and the collector")
    parser.add_argument("--router-image", default=Images.router)
    parser.add_argument("--prefetch-image", default=Images.prefetch)
    parser.add_argument("--engine-overrides", type=Path, help="JSON of what the machines need: see overrides.py")
    return parser


def options(given: argparse.Namespace) -> Options:
    """What was asked for.

    Raises:
        ValueError: an unknown version, or an unknown key in the file of overrides.
    """
    overrides = check(json.loads(given.engine_overrides.read_text())) if given.engine_overrides else {}
    images = Images(given.side_image, given.router_image, given.prefetch_image)
    return Options(given.version, given.mode, images, frozenset(given.variants or []), overrides)


def main() -> None:
    given = arguments().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    chosen = options(given)
    if given.kubeconfig:
        api = config.new_client_from_config(config_file=str(given.kubeconfig))
    else:
        config.load_incluster_config()
        api = client.ApiClient()
    if not api.configuration.verify_ssl:
        urllib3.disable_warnings()
    Controller(api, chosen).run()


if __name__ == "__main__":
    main()
