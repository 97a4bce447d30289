"""The verb ``bench`` from its arguments to its exit code's truth."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from .. import names
from ..cluster import ClusterError, KubernetesCluster
from ..deadline import Deadline, DeadlinePassed
from ..engine import EngineError
from ..findings import UsageError
from ..http import BadAnswer, Unreachable
from ..metrics import MetricsError
from ..verify.command import reach as way_to_pods
from ..verify.reach import Reach
from . import figures, peers, peers_report, report, texts, texts_report, texts_settings
from .judge import judge
from .places import Places, Spot, of_release, of_url
from .progress import Bar
from .record import Record, load
from .replay import read
from .run import run
from .settings import Settings, parse
from .verdict import document

GRACE_SECONDS = 60.0
"""How long what was begun within the budget may still take."""


def main(args: argparse.Namespace) -> bool:
    """Run, check texts, compare or report; True when what was measured is sound. Raises UsageError."""
    actions: dict[str, Callable[[argparse.Namespace], bool]] = {
        "run": _run,
        "texts": _texts,
        "compare": _compare,
        "peers": _peers,
        "report": _report,
    }
    return actions[args.bench](args)


def _compare(args: argparse.Namespace) -> bool:
    if len(args.results) < 2:
        raise UsageError("there is one result only. Fix: give two files or more, the one to compare with first")
    report.print_compared([load(path) for path in args.results], report.console(sys.stdout))
    return True


def _peers(args: argparse.Namespace) -> bool:
    names = peers.Names(args.ours, args.without, args.control)
    records = [load(path) for path in args.results]
    twice = sorted({r.variant for r in records if sum(o.variant == r.variant for o in records) > 1})
    if twice:
        raise UsageError(f"several results are of variant {', '.join(twice)}. Fix: give each run another --variant")
    if names.ours not in {r.variant for r in records}:
        raise UsageError(
            f"--ours {names.ours}: no result is of this variant. Fix: give one of {', '.join(r.variant for r in records)}"
        )
    found = peers.put_together(records, names, _missing(args.missing))
    folder = _folder(args.out)
    (folder / "peers.json").write_text(json.dumps(found.document(), indent=1), encoding="utf-8")
    (folder / "peers.txt").write_text(peers_report.text(found), encoding="utf-8")
    peers_report.print_peers(found, report.console(sys.stdout, wide=True))
    drawn = _drawn(lambda: peers_report.draw(found, folder))
    print(f"{folder}: {', '.join(['peers.json', 'peers.txt', *(f.name for f in drawn)])}")
    return found.verdict.sound


def _missing(path: str) -> list[peers.Missing]:
    if not path:
        return []
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        return [peers.Missing(str(each["peer"]), str(each["why"])) for each in raw]
    except (OSError, ValueError, TypeError, KeyError) as err:
        raise UsageError(
            f'--missing {path} cannot be read: {err}. Fix: give a JSON file [{{"peer": "...", "why": "..."}}]'
        ) from err


def _drawn(draw: Callable[[], list[Path]]) -> list[Path]:
    """The figures' files; a note and none without matplotlib."""
    try:
        return draw()
    except figures.NoMatplotlib as err:
        print(f"note: {err}", file=sys.stderr)
        return []


def _report(args: argparse.Namespace) -> bool:
    record = load(args.result)
    folder = _folder(args.out or str(Path(args.result).parent))
    return _show(record, folder)


def _run(args: argparse.Namespace) -> bool:
    settings = parse(args)
    if settings.conversations:
        read(settings.conversations)  # Before anything is sent, so that a bad file costs no time.
    folder = _folder(args.out)
    record = asyncio.run(_measured(args, settings, folder))
    return _show(record, folder)


async def _measured(args: argparse.Namespace, settings: Settings, folder: Path) -> Record:
    deadline, limit = Deadline(settings.budget), Deadline(settings.budget + GRACE_SECONDS)
    async with _connected(args, limit) as places:
        with Bar(deadline) as bar:
            return await run(
                settings, places, deadline=deadline, limit=limit, tick=bar.tick, keep=lambda r: _keep(r, folder)
            )


def _texts(args: argparse.Namespace) -> bool:
    settings = texts_settings.parse(args)
    folder = _folder(args.out)
    found = asyncio.run(_checked(args, settings))
    (folder / "texts.json").write_text(json.dumps(found.document(), indent=1), encoding="utf-8")
    texts_report.print_texts(found, report.console(sys.stdout))
    print(f"{folder}: texts.json")
    return found.passed


async def _checked(args: argparse.Namespace, settings: texts_settings.TextSettings) -> texts.Texts:
    limit = Deadline(args.budget)
    async with _connected(args, limit) as places:
        with Bar(limit) as bar:
            return await asyncio.to_thread(texts.run, settings, places, limit, bar.tick)


@asynccontextmanager
async def _connected(args: argparse.Namespace, limit: Deadline) -> AsyncIterator[Places]:
    """The places to ask; whatever they, or the way to them, raise becomes a UsageError."""
    key = os.environ.get(names.ENV_API_KEY, "")
    closing: list[Reach] = []
    try:
        places = _places(args, limit, key, closing)
        try:
            yield places
        finally:
            await places.close()
    except ClusterError as err:
        raise UsageError(f"the cluster: {err}. Fix: {err.fix}") from err
    except (Unreachable, BadAnswer, EngineError, MetricsError, DeadlinePassed) as err:
        raise UsageError(f"{err}. Fix: see that it runs and can be reached from here") from err
    finally:
        for reach in closing:
            reach.close()


def _places(args: argparse.Namespace, deadline: Deadline, key: str, closing: list[Reach]) -> Places:
    """Pods of the release and its router, or endpoints alone."""
    spots: list[Spot] = []
    if args.release:
        cluster = KubernetesCluster.connect(args.kubeconfig, args.context)
        reach = way_to_pods(args, cluster)
        closing.append(reach)
        spots = of_release(
            cluster, reach, namespace=args.namespace, release=args.release, model=args.model, deadline=deadline, key=key
        )
    served = args.served_name or (spots[0].client.model if spots else "")
    front = [of_url(url, served, deadline, key) for url in args.url]
    if spots and front:
        for spot in front:
            spot.counts = False  # A router's figures are those of the Pods, which are counted already.
    return Places(spots or front, front or spots, (spots or front)[0].client.model)


def _folder(path: str) -> Path:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise UsageError(f"--out {path} cannot be made: {err}. Fix: name a folder that can be written to") from err
    return Path(path)


def _keep(record: Record, folder: Path) -> None:
    """Write result.json whole or not at all."""
    temporary = folder / ".result.json"
    temporary.write_text(json.dumps(document(record), indent=1), encoding="utf-8")
    temporary.replace(folder / "result.json")


def _show(record: Record, folder: Path) -> bool:
    report.print_record(record, report.console(sys.stdout))
    report.write(record, folder)
    drawn = _drawn(lambda: figures.draw(record, folder))
    print(f"{folder}: {', '.join(['result.json', 'table.txt', *(f.name for f in drawn)])}")
    return judge(record).sound
