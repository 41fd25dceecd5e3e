"""Until when the certificates of a payer's settings are good."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateways.tiss.certificates import CertificateUse, certificate_ends
from gateways.tiss.settings import PayerSettings
from tests.support.certificates import authority, signed


def payer(**files: Path) -> PayerSettings:
    return PayerSettings.model_validate(
        {"registro_ans": "302147", "endpoint": "https://payer.example/tiss", "version": "4.01.00", **files}
    )


def test_each_certificate_file_tells_when_it_ends(tmp_path: Path) -> None:
    ca = authority(tmp_path)
    own = signed(tmp_path, "client", ca)
    found = list(certificate_ends(payer(certificate=own.certificate, key=own.key, ca_file=ca.certificate)))
    assert [one.use for one in found] == [CertificateUse.OWN, CertificateUse.AUTHORITY]
    assert [one.ends_at for one in found] == [
        own.subject.not_valid_after_utc,
        ca.subject.not_valid_after_utc,
    ]
    assert all(one.ends_at and one.ends_at > datetime.now(UTC) - timedelta(days=1) for one in found)


def test_of_several_in_one_file_the_first_to_end_counts(tmp_path: Path) -> None:
    ca = authority(tmp_path)
    own = signed(tmp_path, "client", ca)
    both = tmp_path / "both.pem"
    both.write_bytes(ca.certificate.read_bytes() + own.certificate.read_bytes())
    [found] = certificate_ends(payer(ca_file=both))
    assert found.ends_at == min(ca.subject.not_valid_after_utc, own.subject.not_valid_after_utc)


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_that_cannot_be_read_has_no_end(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "bad.pem"
    if content is not None:
        file.write_bytes(content)
    assert [one.ends_at for one in certificate_ends(payer(ca_file=file))] == [None]


def test_a_payer_without_certificates_has_none() -> None:
    assert list(certificate_ends(payer())) == []
