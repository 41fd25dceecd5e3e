"""The names of the standard: namespaces, versions, encodings, transactions, fault words."""

from enum import StrEnum
from typing import Literal

ANS = "http://www.ans.gov.br/padroes/tiss/schemas"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
SIGNATURE = "http://www.w3.org/2000/09/xmldsig#"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"

Encoding = Literal["iso-8859-1", "utf-8"]
AnswerHash = Literal["required", "ignored"]


class Version(StrEnum):
    """The versions of the standard we speak, as `Padrao` writes them."""

    V4_01_00 = "4.01.00"
    V4_02_00 = "4.02.00"
    V4_03_00 = "4.03.00"


class TransactionKind(StrEnum):
    """What a message is about (`tipoTransacao`)."""

    SEND_BATCH = "ENVIO_LOTE_GUIAS"
    ASK_STATUS = "SOLIC_STATUS_PROTOCOLO"
    CANCEL = "CANCELA_GUIA"
    RECEIPT = "PROTOCOLO_RECEBIMENTO"
    STATUS = "SITUACAO_PROTOCOLO"
    CANCELLED = "CANCELAMENTO_GUIA_RECIBO"


class FaultWord(StrEnum):
    """The seven words a payer's service can fail with (`tissFault`)."""

    WRONG_ADDRESSEE = "DestinatarioInvalido"
    WRONG_SENDER = "RemetenteInvalido"
    WRONG_LOGIN = "LoginInvalido"
    WRONG_VERSION = "VersaoInvalida"
    WRONG_HASH = "HashInvalido"
    WRONG_SCHEMA = "SchemaInvalido"
    SERVER_ERROR = "ErroInesperadoServidor"


def ans(name: str) -> str:
    """An element's full name in the standard's namespace."""
    return f"{{{ANS}}}{name}"


def soap(name: str) -> str:
    """An element's full name in the SOAP 1.1 envelope's namespace."""
    return f"{{{SOAP}}}{name}"


def local(tag: str) -> str:
    """An element's name without its namespace."""
    return tag.rpartition("}")[2]
