"""Certificates made on the spot: an authority, a server, clients."""

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files and as objects."""

    certificate: Path
    key: Path
    subject: x509.Certificate
    secret: ec.EllipticCurvePrivateKey


def authority(folder: Path, name: str = "ca") -> Pair:
    """A certificate that signs others."""
    return _issue(folder, name, None)


def signed(folder: Path, name: str, by: Pair) -> Pair:
    """A certificate for this machine, or for a client."""
    return _issue(folder, name, by)


def server_side(server: Pair, clients: Pair | None = None) -> ssl.SSLContext:
    """TLS for the simulator; with an authority for clients it asks for their certificates."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(server.certificate, server.key)
    if clients:
        context.load_verify_locations(clients.certificate)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _issue(folder: Path, name: str, by: Pair | None) -> Pair:
    secret = ec.generate_private_key(ec.SECP256R1())
    title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(title)
        .issuer_name(by.subject.subject if by else title)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(secret.public_key()), critical=False)
        .add_extension(_identifier_of(by.secret if by else secret), critical=False)
        .add_extension(_usage(signs=by is None), critical=True)
    )
    subject = builder.sign(by.secret if by else secret, hashes.SHA256())
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(subject.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return Pair(certificate, key, subject, secret)


def _identifier_of(issuer: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    """Whose key signed it; Python 3.13 and later trust no certificate that does not say."""
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
