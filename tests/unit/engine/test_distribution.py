"""The distribution is fetched once, verified, and never used half-finished."""

import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gateways.zeebe.engine import EngineConfig, EngineError
from gateways.zeebe.engine.distribution import installed_distribution
from gateways.zeebe.engine.ports import is_free

from .support import UNPINNED, Mirror, Notebook, archive_of, zeebe_archive

CLOSED = "http://127.0.0.1:9"


@pytest.fixture
def mirrored(config: EngineConfig, mirror: Mirror) -> EngineConfig:
    return replace(config, mirror=mirror.url)


def refusal(config: EngineConfig, notebook: Notebook) -> str:
    with pytest.raises(EngineError) as refused:
        installed_distribution(config, notebook)
    assert "\n" not in str(refused.value)
    assert not list(config.cache.glob("staging-*"))
    return str(refused.value)


def test_it_is_downloaded_verified_and_unpacked(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    mirror.publish(UNPINNED, zeebe_archive())
    folder = installed_distribution(mirrored, notebook)
    assert (folder / "bin" / "broker").stat().st_mode & 0o100
    assert notebook.downloads == [f"camunda-zeebe-{UNPINNED}.tar.gz"]
    assert sorted(p.name for p in mirrored.cache.iterdir()) == [f"camunda-zeebe-{UNPINNED}", "install.lock"]


def test_the_second_time_needs_no_network(mirrored: EngineConfig, mirror: Mirror, notebook: Notebook) -> None:
    mirror.publish(UNPINNED, zeebe_archive())
    folder = installed_distribution(mirrored, notebook)
    assert installed_distribution(replace(mirrored, mirror=CLOSED), notebook) == folder


def test_no_network_and_an_empty_cache_is_one_line(config: EngineConfig, notebook: Notebook) -> None:
    assert is_free(9)
    advice = refusal(replace(config, mirror=CLOSED), notebook)
    assert "check the network" in advice
    assert "ENGINE_MIRROR" in advice
    assert "ENGINE_ARCHIVE" in advice


def test_the_mirrors_password_is_not_shown(config: EngineConfig, notebook: Notebook) -> None:
    advice = refusal(replace(config, mirror="http://ana:hidden@127.0.0.1:9/maven"), notebook)
    assert "hidden" not in advice
    assert "http://127.0.0.1:9/maven" in advice


def test_a_version_that_is_not_published_is_named(mirrored: EngineConfig, notebook: Notebook) -> None:
    assert f"Zeebe {UNPINNED} (io.camunda:camunda-zeebe) is not published at the mirror" in refusal(
        mirrored, notebook
    )
    assert "is not published at the mirror" in refusal(replace(mirrored, version="8.6.0"), notebook)


def test_a_download_that_differs_from_the_published_checksum_is_refused(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook, capfd: pytest.CaptureFixture[str]
) -> None:
    mirror.publish(UNPINNED, zeebe_archive(), sha1="0" * 40)
    assert "is damaged or not the official one" in refusal(mirrored, notebook)
    assert not (mirrored.cache / f"camunda-zeebe-{UNPINNED}").exists()
    assert capfd.readouterr().err == ""


def test_the_default_version_must_match_the_pinned_checksum_whatever_the_mirror_publishes(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    mirror.publish("8.6.0", zeebe_archive("8.6.0"))
    assert "pinned in Reenvio" in refusal(replace(mirrored, version="8.6.0"), notebook)


def test_the_strongest_published_checksum_decides(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    archive = zeebe_archive()
    mirror.publish(UNPINNED, archive, sha512=hashlib.sha512(archive).hexdigest(), sha1="0" * 40)
    assert installed_distribution(mirrored, notebook).is_dir()


def test_an_archive_without_any_published_checksum_is_refused(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    mirror.publish(UNPINNED, zeebe_archive(), md5="irrelevant")
    assert "has no checksum at the mirror" in refusal(mirrored, notebook)


@pytest.mark.parametrize("text", ["", "<html>login</html>", "abc"])
def test_a_checksum_file_that_holds_none_is_refused(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook, text: str
) -> None:
    mirror.publish(UNPINNED, zeebe_archive(), sha1=text)
    assert "is not a sha1 digest" in refusal(mirrored, notebook)


def test_a_download_that_breaks_off_is_one_line_and_leaves_nothing(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    mirror.publish(UNPINNED, zeebe_archive())
    mirror.break_off_archives()
    assert "could not be downloaded from the mirror" in refusal(mirrored, notebook)
    assert not (mirrored.cache / f"camunda-zeebe-{UNPINNED}").exists()


@pytest.mark.parametrize("status", [401, 403, 503])
@pytest.mark.parametrize("version", [UNPINNED, "8.6.0"])
def test_a_mirror_that_refuses_us_tells_its_status(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook, status: int, version: str
) -> None:
    mirror.answer_always(status)
    assert f"(HTTP {status})" in refusal(replace(mirrored, version=version), notebook)


def test_a_half_finished_download_is_cleared_away(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    mirror.publish(UNPINNED, zeebe_archive())
    half = mirrored.cache / "staging-killed" / "io" / "camunda-zeebe.tar.gz"
    half.parent.mkdir(parents=True)
    half.write_bytes(zeebe_archive()[:50])
    assert installed_distribution(mirrored, notebook).is_dir()
    assert not half.exists()


def test_a_half_finished_unpacking_is_never_used(
    mirrored: EngineConfig, mirror: Mirror, notebook: Notebook
) -> None:
    mirror.publish(UNPINNED, zeebe_archive())
    half = mirrored.cache / f"camunda-zeebe-{UNPINNED}" / "bin" / "broker"
    half.parent.mkdir(parents=True)
    half.write_text("half a bro")
    folder = installed_distribution(mirrored, notebook)
    assert (folder / "bin" / "broker").read_text() == "#!/bin/sh\n"


def test_two_starts_at_once_download_once(mirrored: EngineConfig, mirror: Mirror, notebook: Notebook) -> None:
    mirror.publish(UNPINNED, zeebe_archive())
    both = [threading.Thread(target=installed_distribution, args=(mirrored, notebook)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert len(notebook.downloads) == 1


def test_a_local_archive_needs_no_network(config: EngineConfig, notebook: Notebook, tmp_path: Path) -> None:
    archive = tmp_path / "local.tar.gz"
    archive.write_bytes(zeebe_archive())
    folder = installed_distribution(replace(config, archive=archive, mirror=CLOSED), notebook)
    assert (folder / "bin" / "broker").is_file()
    assert "No checksum is known for local.tar.gz; using it as it is." in notebook.said


def test_another_local_archive_replaces_the_unpacked_one(
    config: EngineConfig, notebook: Notebook, tmp_path: Path
) -> None:
    archive = tmp_path / "local.tar.gz"
    archive.write_bytes(zeebe_archive())
    installed_distribution(replace(config, archive=archive), notebook)
    archive.write_bytes(archive_of({f"camunda-zeebe-{UNPINNED}/bin/broker": "patched"}))
    folder = installed_distribution(replace(config, archive=archive), notebook)
    assert (folder / "bin" / "broker").read_text() == "patched"


def test_the_same_local_archive_is_not_unpacked_again(
    config: EngineConfig, notebook: Notebook, tmp_path: Path
) -> None:
    archive = tmp_path / "local.tar.gz"
    archive.write_bytes(zeebe_archive())
    folder = installed_distribution(replace(config, archive=archive), notebook)
    (folder / "kept").touch()
    assert (installed_distribution(replace(config, archive=archive), notebook) / "kept").exists()


def test_a_damaged_local_archive_of_the_default_version_is_refused(
    config: EngineConfig, notebook: Notebook, tmp_path: Path
) -> None:
    archive = tmp_path / "local.tar.gz"
    archive.write_bytes(zeebe_archive("8.6.0"))
    assert "copy it again" in refusal(replace(config, archive=archive, version="8.6.0"), notebook)


def test_a_checksum_beside_a_local_archive_is_obeyed(
    config: EngineConfig, notebook: Notebook, tmp_path: Path
) -> None:
    archive = tmp_path / "local.tar.gz"
    archive.write_bytes(zeebe_archive())
    archive.with_name("local.tar.gz.sha256").write_text(f"{'0' * 64}  local.tar.gz\n")
    assert "sha256 differs" in refusal(replace(config, archive=archive), notebook)


@pytest.mark.parametrize(
    "content",
    [
        b"this is not gzip",
        zeebe_archive()[:60],
        archive_of({"../escaped": "outside"}),
        archive_of({"/etc/escaped": "outside"}) + b"",
        archive_of({"camunda-zeebe-9.9.9/bin/broker": ""}),
    ],
    ids=["not an archive", "cut off", "climbs out", "absolute", "another version"],
)
def test_a_local_archive_that_cannot_be_used_is_refused(
    config: EngineConfig, notebook: Notebook, tmp_path: Path, content: bytes
) -> None:
    archive = tmp_path / "local.tar.gz"
    archive.write_bytes(content)
    assert "local.tar.gz" in refusal(replace(config, archive=archive), notebook)
    assert not (config.cache / "escaped").exists()
    assert not (config.cache / f"camunda-zeebe-{UNPINNED}").exists()


def test_a_local_archive_that_is_not_there_is_named(config: EngineConfig, notebook: Notebook) -> None:
    missing = config.cache / "nowhere.tar.gz"
    assert str(missing) in refusal(replace(config, archive=missing), notebook)
