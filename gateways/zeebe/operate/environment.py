"""What turns the broker's process into Camunda with Operate and Tasklist: all of it is told by variables."""

from secrets import token_hex

from gateways.zeebe.engine.ports import LOCALHOST
from gateways.zeebe.operate.files import CLUSTER, OperateFiles
from gateways.zeebe.operate.users import USER

_RECORDS = "zeebe-record"
_EXPORTER = "io.camunda.zeebe.exporter.opensearch.OpensearchExporter"
# the broker's ports are chosen later: Spring puts them in when it reads these
_GRPC = f"{LOCALHOST}:${{ZEEBE_BROKER_GATEWAY_NETWORK_PORT}}"
_REST = f"http://{LOCALHOST}:${{SERVER_PORT}}"


def exporter_name(files: OperateFiles) -> str:
    """The name of this OpenSearch's exporter.

    The broker remembers by the name how far it has exported: emptied data needs a new one, to begin anew.
    """
    if not files.exporter_file.exists():
        files.exporter_file.write_text(f"operate{token_hex(4)}")
    return files.exporter_file.read_text()


def operate_environment(search_url: str, *, exporter: str, password: str) -> dict[str, str]:
    """The variables, by which the same archive's `camunda` serves what `broker` does, and the web pages."""
    return {
        "SPRING_PROFILES_ACTIVE": "broker,operate,tasklist,auth",
        **_exporting(search_url, f"ZEEBE_BROKER_EXPORTERS_{exporter.upper()}"),
        "CAMUNDA_DATABASE_TYPE": "opensearch",
        "CAMUNDA_DATABASE_URL": search_url,
        "CAMUNDA_DATABASE_CLUSTERNAME": CLUSTER,
        **_page(search_url, password, "CAMUNDA_OPERATE"),
        **_page(search_url, password, "CAMUNDA_TASKLIST"),
        "CAMUNDA_TASKLIST_ZEEBE_RESTADDRESS": _REST,
        "CAMUNDA_TASKLIST_READERPASSWORD": password,
        "CAMUNDA_TASKLIST_OPERATORPASSWORD": password,
        # it needs a plugin that this OpenSearch does not have
        "CAMUNDA_TASKLIST_ARCHIVERENABLED": "false",
        # else its client looks for credentials in the network, at each start
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _exporting(search_url: str, prefix: str) -> dict[str, str]:
    return {
        f"{prefix}_CLASSNAME": _EXPORTER,
        f"{prefix}_ARGS_URL": search_url,
        f"{prefix}_ARGS_BULK_DELAY": "1",
        f"{prefix}_ARGS_INDEX_PREFIX": _RECORDS,
        f"{prefix}_ARGS_INDEX_NUMBEROFSHARDS": "1",
        f"{prefix}_ARGS_INDEX_NUMBEROFREPLICAS": "0",
    }


def _page(search_url: str, password: str, prefix: str) -> dict[str, str]:
    return {
        f"{prefix}_DATABASE": "opensearch",
        f"{prefix}_OPENSEARCH_URL": search_url,
        f"{prefix}_OPENSEARCH_CLUSTERNAME": CLUSTER,
        f"{prefix}_ZEEBEOPENSEARCH_URL": search_url,
        f"{prefix}_ZEEBEOPENSEARCH_CLUSTERNAME": CLUSTER,
        f"{prefix}_ZEEBEOPENSEARCH_PREFIX": _RECORDS,
        f"{prefix}_ZEEBE_GATEWAYADDRESS": _GRPC,
        f"{prefix}_USERID": USER,
        f"{prefix}_DISPLAYNAME": USER,
        f"{prefix}_PASSWORD": password,
    }
