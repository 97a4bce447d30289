"""Certificates of the webhook: an authority (CA) and what it signs. Elliptic curves: a handshake costs least with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_LIFETIME = timedelta(days=3650)
LIFETIME = timedelta(days=365)
EARLIER = timedelta(hours=1)
"""A certificate begins so long before it is made: clocks differ."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, certificate: bytes, key: bytes) -> Pair | None:
        """From PEM, of which the first certificate counts; None if it is no pair."""
        try:
            found = cls(
                x509.load_pem_x509_certificates(certificate)[0],
                serialization.load_pem_private_key(key, None),  # type: ignore[arg-type]
            )
            same = found.certificate.public_key() == found.key.public_key()
        except (ValueError, TypeError, IndexError):
            return None
        return found if same and isinstance(found.key, ec.EllipticCurvePrivateKey) else None

    @property
    def pem(self) -> bytes:
        """The certificate."""
        return pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        """The key."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def due(self, now: datetime) -> bool:
        """Whether two thirds of its life are over, so that another one should be made."""
        begin, end = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        return not begin <= now < begin + (end - begin) * 2 / 3


def make_ca(name: str, now: datetime) -> Pair:
    """A new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    builder = _builder(key, (subject, subject), key, _times(now, CA_LIFETIME))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    return Pair(builder.sign(key, hashes.SHA256()), key)


def make_leaf(ca: Pair, hosts: Sequence[str], now: datetime) -> Pair:
    """A server's certificate for DNS names; the first is its common name, shortened."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(key, (_name(hosts[0]), ca.certificate.subject), ca.key, _times(now, LIFETIME))
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
    builder = builder.add_extension(names, critical=False)
    return Pair(builder.sign(ca.key, hashes.SHA256()), key)


def signed_by(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    """Whether the authority has signed it."""
    try:
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def hosts_of(certificate: x509.Certificate) -> list[str]:
    """Its DNS names."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return names.value.get_values_for_type(x509.DNSName)


def read_bundle(content: bytes) -> list[x509.Certificate]:
    """Certificates of PEM text; none if it is no such text."""
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        return []


def pem(certificate: x509.Certificate) -> bytes:
    """As text."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _times(now: datetime, lifetime: timedelta) -> tuple[datetime, datetime]:
    begin = now.replace(microsecond=0) - EARLIER
    return begin, begin + lifetime


def _builder(
    key: ec.EllipticCurvePrivateKey,
    names: tuple[x509.Name, x509.Name],
    signer: ec.EllipticCurvePrivateKey,
    times: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    """For a key; `names`: of subject and issuer."""
    subject, issuer = names
    public = key.public_key()
    return (
        x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number(), *times)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
