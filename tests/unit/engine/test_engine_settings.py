"""Settings become an embedded engine or a connection, or one line that says what is missing."""

from pathlib import Path

import pytest

from gateways.zeebe.connection import OAuth, Plaintext, Saas, Tls, ZeebeConnection, ZeebeConnectionError
from gateways.zeebe.engine import FixedPorts
from workers.config.cluster import ClusterSettings, connection_from
from workers.config.engine import EngineSettings
from workers.config.settings import read_settings

VARIABLES = [
    *(f"ENGINE_{name.upper()}" for name in EngineSettings.model_fields),
    *(name.upper() for name in ClusterSettings.model_fields),
    "JAVA_HOME",
]
CREDENTIALS = {"ZEEBE_CLIENT_ID": "ana", "ZEEBE_CLIENT_SECRET": "hidden"}
LOGIN = "https://login.example/token"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def connection(monkeypatch: pytest.MonkeyPatch, **variables: str) -> ZeebeConnection | None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return connection_from(read_settings().cluster)


def advice(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    with pytest.raises(ZeebeConnectionError) as refused:
        connection(monkeypatch, **variables)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_the_engine_has_a_default_for_everything() -> None:
    config = read_settings().engine.config()
    assert (config.version, config.memory, config.ports) == ("8.6.0", "512m", FixedPorts())
    assert (config.archive, config.mirror, config.java_home) == (None, None, None)


def test_the_engines_settings_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ENGINE_VERSION", "8.7.1")
    monkeypatch.setenv("ENGINE_HOME", str(tmp_path))
    monkeypatch.setenv("ENGINE_GRPC_PORT", "26600")
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    config = read_settings().engine.config()
    assert (config.version, config.home, config.ports.grpc) == ("8.7.1", tmp_path, 26600)
    assert config.java_home == Path("/opt/java")


def test_without_settings_the_embedded_engine_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection(monkeypatch) is None


@pytest.mark.parametrize("address", ["zeebe:26500", "http://zeebe:26500", "grpc://zeebe:26500/"])
def test_an_address_alone_is_plaintext(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    assert connection(monkeypatch, ZEEBE_ADDRESS=address) == Plaintext("zeebe:26500")


def test_tls_is_asked_for_by_setting_scheme_or_ca(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection(monkeypatch, ZEEBE_ADDRESS="https://zeebe:443") == Tls("zeebe:443")
    assert connection(monkeypatch, ZEEBE_ADDRESS="zeebe:443", ZEEBE_TLS="true") == Tls("zeebe:443")
    monkeypatch.delenv("ZEEBE_TLS")
    with_ca = connection(monkeypatch, ZEEBE_CA_CERTIFICATE_PATH="ca.pem")
    assert with_ca == Tls("zeebe:443", Path("ca.pem"))


def test_a_ca_without_tls_is_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"ZEEBE_ADDRESS": "zeebe:1", "ZEEBE_TLS": "false", "ZEEBE_CA_CERTIFICATE_PATH": "ca.pem"}
    assert "although TLS is off" in advice(monkeypatch, **settings)


def test_credentials_and_an_address_make_a_self_managed_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made = connection(
        monkeypatch, ZEEBE_ADDRESS="zeebe:443", ZEEBE_AUTHORIZATION_SERVER_URL=LOGIN, **CREDENTIALS
    )
    assert made == OAuth(
        address="zeebe:443", client_id="ana", client_secret="hidden", authorization_server=LOGIN
    )


def test_every_missing_variable_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = advice(monkeypatch, ZEEBE_ADDRESS="zeebe:443", ZEEBE_CLIENT_ID="ana")
    assert told.endswith("set ZEEBE_CLIENT_SECRET, ZEEBE_AUTHORIZATION_SERVER_URL.")


def test_a_saas_cluster_without_credentials_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    told = advice(monkeypatch, CAMUNDA_CLUSTER_ID="c1")
    assert told.endswith("set ZEEBE_CLIENT_ID, ZEEBE_CLIENT_SECRET.")


def test_credentials_without_a_cluster_are_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    told = advice(monkeypatch, **CREDENTIALS)
    assert "ZEEBE_ADDRESS" in told
    assert "CAMUNDA_CLUSTER_ID" in told


def test_tokens_never_travel_in_plaintext(monkeypatch: pytest.MonkeyPatch) -> None:
    told = advice(
        monkeypatch,
        ZEEBE_ADDRESS="http://zeebe:26500",
        ZEEBE_AUTHORIZATION_SERVER_URL=LOGIN,
        **CREDENTIALS,
    )
    assert "TLS is off" in told


def test_what_camundas_console_exports_is_a_saas_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made = connection(
        monkeypatch,
        ZEEBE_ADDRESS="c1.lhr-1.zeebe.camunda.io:443",
        CAMUNDA_CLUSTER_ID="c1",
        CAMUNDA_CLUSTER_REGION="lhr-1",
        **CREDENTIALS,
    )
    assert made == Saas(client_id="ana", client_secret="hidden", cluster_id="c1", region="lhr-1")


def test_an_address_of_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "write it as host:port" in advice(monkeypatch, ZEEBE_ADDRESS="ftp://zeebe:21")


def test_secrets_are_not_in_the_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEEBE_CLIENT_SECRET", "hidden")
    monkeypatch.setenv("ENGINE_MIRROR", "https://ana:hidden@mirror.example")
    assert "hidden" not in repr(read_settings())
