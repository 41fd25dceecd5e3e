"""One claim's chain at a glance: whole, changed, cut, or without a key that proves it."""

from dataclasses import replace

from persistence.audit.chain import AuditDraft, AuditEvent, Head, seal_all
from persistence.audit.claim_seal import SealState, seal_state
from persistence.audit.seals import UNSEALED, seals_of
from persistence.encryption.keys import cipher_of, new_key
from tests.support.builders import CLAIM, NOW

SEALS = seals_of(cipher_of(new_key("k1")))


def chain() -> list[AuditEvent]:
    drafts = [AuditDraft(CLAIM, "NOTED", NOW, 0, f'{{"n":{n}}}') for n in range(3)]
    return [_sealed(event) for event in seal_all(drafts, Head())]


def _sealed(event: AuditEvent) -> AuditEvent:
    given = SEALS.of_event(event.hash)
    return replace(event, seal=given["seal"], seal_key=given["seal_key"])


def test_a_chain_as_it_was_written_is_whole() -> None:
    assert seal_state(chain(), SEALS) is SealState.WHOLE


def test_a_changed_event_breaks_it() -> None:
    first, second, third = chain()
    assert seal_state([first, replace(second, data="{}"), third], SEALS) is SealState.BROKEN


def test_a_removed_event_breaks_it() -> None:
    first, _, third = chain()
    assert seal_state([first, third], SEALS) is SealState.BROKEN


def test_a_seal_of_somebody_without_the_key_breaks_it() -> None:
    *before, last = chain()
    assert seal_state([*before, replace(last, seal="0" * 32)], SEALS) is SealState.BROKEN


def test_what_retention_has_cut_off_at_the_front_is_not_missed() -> None:
    assert seal_state(chain()[1:], SEALS) is SealState.WHOLE


def test_without_its_key_a_chain_is_not_proven() -> None:
    assert seal_state(chain(), UNSEALED) is SealState.UNPROVEN
    assert seal_state([], SEALS) is SealState.EMPTY
