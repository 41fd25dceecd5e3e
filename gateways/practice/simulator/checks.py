"""What a payer checks before it looks at a batch: addresses, version, login, schema, hash."""

from collections import Counter

from gateways.practice.simulator.request import Asked
from gateways.practice.simulator.scenario import PayerScenario
from gateways.tiss.hash import HashError, message_hash
from gateways.tiss.names import FaultWord, ans
from gateways.tiss.validation import Schemas

MOST_GUIDES = 100
TOO_MANY_GUIDES = "5015"
_AS_CODE = {
    FaultWord.WRONG_VERSION: "5028",
    FaultWord.WRONG_SCHEMA: "5001",
    FaultWord.WRONG_HASH: "5014",
}


class Checks:
    """One payer's checks; it remembers bad logins, and a locked account stays locked."""

    def __init__(self, payer: PayerScenario, schemas: Schemas) -> None:
        self._payer = payer
        self._schemas = schemas
        self._bad_logins: Counter[str] = Counter()

    def complaint(self, asked: Asked | None) -> FaultWord | str | None:
        """What is wrong with a request, as a fault word or as a code; None when nothing is."""
        if asked is None:
            return self._said(FaultWord.WRONG_SCHEMA)
        if asked.guide_count > MOST_GUIDES:
            return TOO_MANY_GUIDES
        word = self._address(asked) or self._login(asked) or self._form(asked)
        return self._said(word) if word else None

    def _said(self, word: FaultWord) -> FaultWord | str:
        return _AS_CODE.get(word, word) if self._payer.refuse_by == "code" else word

    def _address(self, asked: Asked) -> FaultWord | None:
        if asked.registro_ans != self._payer.registro_ans:
            return FaultWord.WRONG_ADDRESSEE
        if self._payer.providers and asked.provider not in self._payer.providers:
            return FaultWord.WRONG_SENDER
        return FaultWord.WRONG_VERSION if asked.version != self._payer.version else None

    def _login(self, asked: Asked) -> FaultWord | None:
        accounts = self._payer.accounts
        if not accounts:
            return None
        locked = self._bad_logins[asked.login] >= self._payer.lock_after
        if not locked and asked.login in accounts and accounts[asked.login] == asked.password:
            del self._bad_logins[asked.login]
            return None
        self._bad_logins[asked.login] += 1
        return FaultWord.WRONG_LOGIN

    def _form(self, asked: Asked) -> FaultWord | None:
        if self._schemas.violations(asked.xml, self._payer.version):
            return FaultWord.WRONG_SCHEMA
        stated = asked.xml.findtext(ans("hash"), "").strip()
        try:
            right = stated == message_hash(asked.xml, self._payer.hash_encoding)
        except HashError:
            right = False
        return None if right else FaultWord.WRONG_HASH
