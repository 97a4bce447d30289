"""What the Secret and the caBundle must hold, from what they hold: a pure function of both and the time.

The caBundle names a new authority before any server shows a certificate of it, and the old one until no server can show
one of that any more: a Pod sees a changed Secret a minute or two later. So the bundle is written first, and old authorities
leave it only when the certificate in the Secret has been there for OLD_STAYS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from .authority import EARLIER, Pair, hosts_of, make_ca, make_leaf, pem, read_bundle, signed_by

CERTIFICATE, KEY, CA, CA_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"
"""Keys of the Secret; the server's Pods get the first two."""
OLD_STAYS = timedelta(hours=12)


@dataclass(frozen=True)
class Plan:
    """What is to be written.

    Args:
        secret: all of the Secret's data.
        bundle: for the webhook configuration, PEM.
        said: what is new and why; empty: nothing.
    """

    secret: dict[str, bytes]
    bundle: bytes
    said: tuple[str, ...] = ()


def plan(secret: Mapping[str, bytes], bundle: bytes, hosts: Sequence[str], now: datetime) -> Plan:
    """Decide for a Secret that is ours.

    Args:
        secret: its data; empty where there is none.
        bundle: the configuration's present caBundle.
        hosts: DNS names of the Service.
        now: with a time zone.
    """
    said = []
    ca = Pair.read(secret.get(CA, b""), secret.get(CA_KEY, b""))
    if ca is None or ca.due(now):
        said.append(
            "new authority: " + ("two thirds of the old one's time are over" if ca else "there was no whole one")
        )
        ca = make_ca(f"{hosts[0]} CA", now)
    leaf = Pair.read(secret.get(CERTIFICATE, b""), secret.get(KEY, b""))
    if why := _renew(leaf, ca, hosts, now):
        said.append(f"new certificate: {why}")
        leaf = make_leaf(ca, hosts, now)
    assert leaf is not None
    trusted = _bundle([ca.certificate], secret.get(CA, b"") + bundle, leaf.certificate, now)
    data = {CERTIFICATE: leaf.pem, KEY: leaf.key_pem, CA: trusted, CA_KEY: ca.key_pem}
    return Plan(data, trusted, tuple(said))


def plan_issued(secret: Mapping[str, bytes], bundle: bytes, now: datetime) -> Plan:
    """Decide for a Secret that another controller fills. Raises ValueError: it has not filled it yet."""
    authorities = read_bundle(secret.get(CA, b""))
    leaf = read_bundle(secret.get(CERTIFICATE, b""))
    if not authorities or not leaf:
        raise ValueError(f"it has no {CA} or no {CERTIFICATE}")
    return Plan(dict(secret), _bundle(authorities, bundle, leaf[0], now))


def _renew(leaf: Pair | None, ca: Pair, hosts: Sequence[str], now: datetime) -> str:
    """Why another certificate is needed; empty: it is not."""
    if leaf is None:
        return "there was no whole one"
    if not signed_by(leaf.certificate, ca.certificate):
        return "the old one is not of this authority"
    if sorted(hosts_of(leaf.certificate)) != sorted(hosts):
        return f"the old one is for {', '.join(hosts_of(leaf.certificate))}"
    if leaf.due(now):
        return "two thirds of the old one's time are over"
    return ""


def _bundle(ours: Sequence[x509.Certificate], others: bytes, leaf: x509.Certificate, now: datetime) -> bytes:
    """Our authorities, and while a change may be under way those that were trusted before it."""
    trusted = list(ours)
    if now < leaf.not_valid_before_utc + EARLIER + OLD_STAYS:
        trusted += [each for each in read_bundle(others) if now < each.not_valid_after_utc]
    return b"".join(dict.fromkeys(pem(each) for each in trusted))
