"""Who may log in to Operate and Tasklist: one user of ours, whose password is in a file of its owner's."""

import os
from hashlib import pbkdf2_hmac
from secrets import token_bytes, token_urlsafe

from gateways.zeebe.engine.errors import EngineError
from gateways.zeebe.engine.management import ManagementError, ask
from gateways.zeebe.operate.files import OperateFiles
from gateways.zeebe.operate.search import SearchNode

USER = "reenvio"
KNOWN_USERS = ("demo", "act", "view")
"""Operate makes some of them by itself, with passwords that everybody knows."""
_USERS = "operate-user-*,tasklist-user-*/_update_by_query?conflicts=proceed&refresh=true"
_SECONDS = 30.0
_ROUNDS = 310_000


def own_password(files: OperateFiles) -> str:
    """The password of this home; made when there is none."""
    if not files.password_file.exists():
        made = os.open(files.password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w") as file:
            file.write(f"{token_urlsafe(18)}\n")
    return files.password_file.read_text().strip()


def close_doors(node: SearchNode, password: str) -> None:
    """Let our user in with the password on file, and those that everybody knows not at all."""
    hashes = {USER: spring_hash(password, token_bytes(16))}
    hashes |= {name: spring_hash(token_urlsafe(18), token_bytes(16)) for name in KNOWN_USERS}
    script = {"source": "ctx._source.password = params[ctx._source.userId]", "params": hashes}
    given = {"query": {"ids": {"values": list(hashes)}}, "script": script}
    try:
        changed = ask(f"{node.url}/{_USERS}", seconds=_SECONDS, given=given).number("updated")
    except (ManagementError, KeyError, ValueError) as error:
        raise _open(str(error)) from error
    if not changed:
        raise _open("there are none")


def spring_hash(password: str, salt: bytes) -> str:
    """As Spring Security writes it, which Operate is built with."""
    digest = pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    return f"{{pbkdf2@SpringSecurity_v5_8}}{(salt + digest).hex()}"


def _open(reason: str) -> EngineError:
    return EngineError(
        f"Operate's users could not be given passwords of their own ({reason}), so it was not left running: "
        "try again; if it stays so, start once with --no-operate, which removes its data."
    )
