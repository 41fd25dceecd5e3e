"""What is set for the collector is checked before OpenTelemetry reads it, and no secret is ever told."""

import logging
from pathlib import Path

import grpc
import pytest
from opentelemetry.util.re import parse_env_headers
from structlog.testing import capture_logs

from tests.support.command_line import reenvio
from workers.app.telemetry.library_logs import hear_libraries
from workers.app.telemetry.metering import bare_metering
from workers.config.settings import Settings, SettingsError, read_settings

SECRET = "SECRET-9f3"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
SECRETS = (HEADERS, "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS")


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "value",
    [
        f"Authorization: Bearer {SECRET}",
        f"Authorization: Bearer {SECRET}==",
        SECRET,
        f"={SECRET}",
        f"authorization=Bearer {SECRET},{SECRET}",
        f"authorization={SECRET}\N{LATIN SMALL LETTER E WITH ACUTE}",
        f"authorization={SECRET}%C3%A9",
        f"authorization={SECRET};{SECRET}",
        f"authorization={SECRET}%0Ax",
    ],
)
def test_headers_of_a_wrong_form_are_refused_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=rf"{name}: each header must be name=value") as refused:
        read_settings()
    assert SECRET not in f"{refused.value} {refused.value.__cause__}"


@pytest.mark.parametrize(
    "value",
    [f"authorization=Bearer%20{SECRET}", f"Authorization=Bearer {SECRET}\n", f"a=b, x-key={SECRET}==,"],
)
def test_headers_of_the_right_form_are_a_secret_that_opentelemetry_takes_without_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    monkeypatch.setenv(HEADERS, value)
    assert SECRET not in repr(read_settings())
    assert SECRET in str(parse_env_headers(value, liberal=True))
    assert not caplog.records


@pytest.mark.parametrize("address", [f"http://user:{SECRET}@127.0.0.1:9", f"https://{SECRET}@collector"])
def test_an_address_with_a_password_is_refused_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(ENDPOINT, address)
    with pytest.raises(SettingsError, match=rf"{ENDPOINT}: it must hold no user and no password") as refused:
        read_settings()
    assert SECRET not in f"{refused.value} {refused.value.__cause__}"


def test_a_librarys_complaint_is_told_by_part_status_and_type_and_never_by_its_text() -> None:
    hear_libraries()
    with capture_logs() as lines:
        logging.getLogger("opentelemetry.util.re").warning("Header format invalid! %s", SECRET)
        code = grpc.StatusCode.UNAVAILABLE
        logging.getLogger("opentelemetry.exporter").error("Failed to %s: %s, %s", SECRET, code, SECRET)
        logging.getLogger("opentelemetry.sdk").error("It broke: %s", SECRET, exc_info=KeyError(SECRET))
    assert SECRET not in str(lines)
    assert [(line["event"], line["part"], line["status"], line["error"]) for line in lines] == [
        ("telemetry_trouble", "opentelemetry.util.re", None, None),
        ("telemetry_trouble", "opentelemetry.exporter", "UNAVAILABLE", None),
        ("telemetry_trouble", "opentelemetry.sdk", None, "KeyError"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        (ENDPOINT, "http://", "it names no host"),
        (ENDPOINT, "http:///v1", "it names no host"),
        (ENDPOINT, "http://a b:4317", "it names no host"),
        (ENDPOINT, "http://[::1", "it is no address"),
        (ENDPOINT, "http://localhost:99999", "it is no address"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "a number of seconds above 0"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "nan", "a number of seconds above 0"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0", "a number of seconds above 0"),
        ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "-1", "a number of seconds above 0"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "brotli", "only gzip is known"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nonexistent", "no file that can be read: correct the path"),
        ("OTEL_METRIC_EXPORT_TIMEOUT", "abc", "a whole number of milliseconds"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-5", "a whole number of milliseconds"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "a whole number from 1"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096", "must not be above OTEL_BSP_MAX_QUEUE_SIZE"),
        ("OTEL_METRICS_EXEMPLAR_FILTER", "nonsense", "trace_based"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-1", "a whole number from 0"),
        ("OTEL_SDK_DISABLED", "yes", "'true' or 'false'"),
    ],
)
def test_what_opentelemetry_cannot_use_is_told_by_its_variable_and_its_rule(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, rule: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"{name}: .*{rule}") as refused:
        read_settings()
    assert "\n" not in str(refused.value)


def test_a_queue_smaller_than_the_usual_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
    with pytest.raises(SettingsError, match="OTEL_BSP_MAX_EXPORT_BATCH_SIZE"):
        read_settings()
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    assert read_settings().telemetry.bsp_max_export_batch_size == 10


def test_companions_that_fit_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    for name, value in {
        ENDPOINT: "https://[::1]:4317",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2.5",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "GZIP",
        "OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "ca.pem"),
        "OTEL_SDK_DISABLED": "True",
        "OTEL_SPAN_LINK_COUNT_LIMIT": "0",
    }.items():
        monkeypatch.setenv(name, value)
    assert read_settings().telemetry.traces_to == "https://[::1]:4317"


def test_what_is_only_found_out_at_the_start_blames_the_variables_without_quoting_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXEMPLAR_FILTER", SECRET)
    with pytest.raises(SettingsError, match=r"OTEL_METRICS_EXEMPLAR_FILTER.*ValueError") as refused:
        bare_metering(Settings())
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-1"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")]
)
@pytest.mark.parametrize("command", ["relay", "work"])
def test_a_command_ends_with_one_line_and_no_traceback(
    tmp_path: Path, command: str, name: str, value: str
) -> None:
    ended = reenvio(tmp_path, command, **{ENDPOINT: "http://127.0.0.1:9", name: value})
    assert ended.returncode == 2
    assert name in ended.stderr
    assert "Traceback" not in ended.stderr
