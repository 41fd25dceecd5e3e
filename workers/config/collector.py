"""What OpenTelemetry reads by itself beside the collector's address, checked before it does."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator
from pydantic_core.core_schema import ValidationInfo

from workers.config.topic import Topic

QUEUE, BATCH = 2_048, 512
MOST = 1_000_000
LONGEST_SECONDS = 3_600
_NAME = re.compile(r"[0-9A-Za-z_.-]+", re.ASCII)
_HOST = re.compile(r"[0-9A-Za-z_.:%\[\]-]+", re.ASCII)


def is_address(text: str) -> str:
    """Refuse what names no host, and what would stand in the log with a password; nothing is quoted."""
    if not text.startswith(("http://", "https://")):
        raise ValueError("it must begin with http:// or https://, such as http://localhost:4317")
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("it is no address: write it as http://localhost:4317 or http://[::1]:4317") from None
    if "@" in text:
        raise ValueError("it must hold no user and no password: give them in OTEL_EXPORTER_OTLP_HEADERS")
    if not host or not _HOST.fullmatch(parts.netloc):
        raise ValueError("it names no host: write it as http://localhost:4317")
    return text


def _are_headers(secret: SecretStr) -> SecretStr:
    """Refuse what OpenTelemetry or gRPC would refuse later, quoting it."""
    for header in secret.get_secret_value().split(","):
        name, equals, value = header.strip().partition("=")
        sent = unquote(value)
        fits = equals and _NAME.fullmatch(name.strip()) and sent.isascii() and sent.isprintable()
        if header.strip() and (not fits or set(value) & set('";\\')):
            raise ValueError(
                "each header must be name=value, with a comma between two and a blank as %20, such as "
                "authorization=Bearer%20KEY (what was given is not shown)"
            )
    return secret


def _number(kind: type[float], most: float, words: str) -> Callable[[object], object]:
    """Numbers above 0; the rule is told in words of ours, and what was given is not."""

    def check(given: object) -> object:
        try:
            fits = given is None or 0 < kind(str(given)) <= most
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(words)
        return given

    return check


def _is_limit(given: object) -> object:
    if given is not None and not re.fullmatch(r"[0-9]{1,9}", str(given).strip(), re.ASCII):
        raise ValueError("it must be a whole number from 0 on, such as 128")
    return given


def _is_compression(given: str) -> str:
    if given.strip().lower() != "gzip":
        raise ValueError("only gzip is known: set gzip, or unset it for none")
    return given


def _is_file(path: Path) -> Path:
    if not os.access(path, os.R_OK) or path.is_dir():
        raise ValueError(
            "there is no file that can be read: correct the path or the file's rights, or unset it"
        )
    return path


SECONDS = f"it must be a number of seconds above 0 and up to {LONGEST_SECONDS}, without a unit, such as 10"
MILLISECONDS = "it must be a whole number of milliseconds above 0, without a unit, such as 5000"
SIZE = f"it must be a whole number from 1 to {MOST}"
Headers = Annotated[SecretStr, AfterValidator(_are_headers)] | None
Seconds = Annotated[float | None, BeforeValidator(_number(float, LONGEST_SECONDS, SECONDS))]
Milliseconds = Annotated[int | None, BeforeValidator(_number(int, LONGEST_SECONDS * 1000, MILLISECONDS))]
Size = Annotated[int, BeforeValidator(_number(int, MOST, SIZE))]
Limit = Annotated[int | None, BeforeValidator(_is_limit)]
File = Annotated[Path, AfterValidator(_is_file)] | None
Compression = Annotated[str, AfterValidator(_is_compression)] | None


class CollectorSettings(Topic):
    """Read by OpenTelemetry itself, some for one signal alone; here they are only checked."""

    exporter_otlp_headers: Headers = None
    exporter_otlp_traces_headers: Headers = None
    exporter_otlp_metrics_headers: Headers = None
    exporter_otlp_timeout: Seconds = None
    exporter_otlp_traces_timeout: Seconds = None
    exporter_otlp_metrics_timeout: Seconds = None
    exporter_otlp_compression: Compression = None
    exporter_otlp_traces_compression: Compression = None
    exporter_otlp_metrics_compression: Compression = None
    exporter_otlp_certificate: File = None
    exporter_otlp_traces_certificate: File = None
    exporter_otlp_metrics_certificate: File = None
    exporter_otlp_client_key: File = None
    exporter_otlp_traces_client_key: File = None
    exporter_otlp_metrics_client_key: File = None
    exporter_otlp_client_certificate: File = None
    exporter_otlp_traces_client_certificate: File = None
    exporter_otlp_metrics_client_certificate: File = None
    metric_export_timeout: Milliseconds = None
    metrics_exemplar_filter: Literal["trace_based", "always_on", "always_off"] = "trace_based"
    bsp_schedule_delay: Milliseconds = None
    bsp_export_timeout: Milliseconds = None
    bsp_max_queue_size: Size = QUEUE
    bsp_max_export_batch_size: Size = Field(default=BATCH, validate_default=True)
    attribute_count_limit: Limit = None
    attribute_value_length_limit: Limit = None
    span_attribute_count_limit: Limit = None
    span_attribute_value_length_limit: Limit = None
    span_event_count_limit: Limit = None
    span_link_count_limit: Limit = None
    event_attribute_count_limit: Limit = None
    link_attribute_count_limit: Limit = None

    @field_validator("bsp_max_export_batch_size")
    @classmethod
    def _fits_the_queue(cls, size: int, info: ValidationInfo) -> int:
        if size > info.data.get("bsp_max_queue_size", MOST):
            raise ValueError(
                f"it must not be above OTEL_BSP_MAX_QUEUE_SIZE; where not set they are {BATCH} and {QUEUE}"
            )
        return size
