"""Whatever people can do in the console, in a browser, on a real broker and PostgreSQL; in both languages."""

import itertools
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from domain.access import Role
from domain.claim_state import ClaimState
from domain.payer_status import PayerState
from gateways.zeebe import engine
from tests.browser.live import SECOND, STEERED, Live, live, scenario_of
from tests.browser.visitor import PATIENCE_MS, Looks, Visitor, Visitors
from tests.support.console_stage import PASSWORD
from tests.support.mails import keep_dead
from tests.support.tiss_samples import PAYER, file_bytes, file_text
from tests.support.waiting import eventually
from workers.console.words import words_of

FAILS, REFUSED, CARD, LOST = 6_600_000, 7_700_000, 7_800_000, 8_900_000
"""Numbers of batches that fail once, are refused once (for two causes), and whose receipt is damaged."""
RULES: tuple[Mapping[str, object], ...] = (
    {"lote": "66*", "arrivals": [1], "then": {"do": "http", "status": 503}},
    {"lote": "77*", "arrivals": [1], "then": {"do": "refuse", "code": "1801"}},
    {"lote": "78*", "arrivals": [1], "then": {"do": "refuse", "code": "1001"}},
    {"lote": "89*", "arrivals": [1], "then": {"do": "garbage", "kind": "bad-hash"}},
)
WHY = "combinado por telefone com a operadora"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
async def stage(
    broker: engine.RunningEngine, database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Live]:
    folder: Path = tmp_path_factory.mktemp("live")
    async with live(broker, folder, database_url, scenario=scenario_of(*RULES), pace=6_000) as opened:
        yield opened


@pytest.fixture(params=["pt", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def people(chromium: Browser, stage: Live, language: str) -> "People":
    return People(Visitors(chromium, stage.address), language)


class People:
    """Those who read one language."""

    def __init__(self, visitors: Visitors, language: str) -> None:
        self._visitors = visitors
        self.language = language

    def one(self, who: Role | str | None, password: str = PASSWORD) -> AbstractAsyncContextManager[Visitor]:
        """One of them, logged in; or somebody at the door."""
        return self._visitors.somebody(who, Looks(self.language), password)


async def stopped(stage: Live, kind: int, state: ClaimState = ClaimState.IN_REVIEW) -> tuple[int, str]:
    """A batch that met its payer's answer; its number and its claim."""
    number = kind + next(_numbers)
    claim_id = await stage.hand_in(number)
    await stage.reaches(claim_id, state)
    return number, claim_id


async def clean(visitor: Visitor) -> None:
    """Nobody is kept out, nothing broke, and no word is ours alone."""
    assert [*await visitor.leftovers(), *await visitor.barriers(), *visitor.troubles()] == []


async def test_a_claim_that_waits_is_sent_now(stage: Live, people: People) -> None:
    number, claim_id = await stopped(stage, FAILS, ClaimState.WAITING)
    async with people.one(Role.BILLING) as visitor:
        await visitor.go(f"/claims/{claim_id}")
        await clean(visitor)
        await visitor.act(visitor.words("claim.wake"), visitor.words("claim.wake"), reason=WHY)
        await visitor.reads(visitor.words("said.woken"))
        await stage.reaches(claim_id, ClaimState.ACCEPTED)
        await visitor.go(f"/claims/{claim_id}")
        await clean(visitor)
    assert stage.times_taken(number) == 1
    assert await stage.orders(claim_id) == ["retry-now"]


async def test_a_claim_is_cancelled_for_good(stage: Live, people: People) -> None:
    number, claim_id = await stopped(stage, FAILS, ClaimState.WAITING)
    async with people.one(Role.BILLING_MANAGEMENT) as visitor:
        await visitor.go(f"/claims/{claim_id}")
        await visitor.act(visitor.words("claim.cancel"), visitor.words("claim.cancel_for_good"), reason=WHY)
        await visitor.reads(visitor.words("said.cancelled"))
    await stage.reaches(claim_id, ClaimState.CANCELLED)
    assert (stage.times_taken(number), await stage.orders(claim_id)) == (0, ["cancel"])


async def test_a_review_is_taken_noted_and_resent(stage: Live, people: People) -> None:
    number, claim_id = await stopped(stage, REFUSED)
    async with people.one(Role.BILLING) as visitor:
        words = visitor.words
        await visitor.go(f"/claims/{claim_id}")
        await visitor.act(words("review_act.assign"), words("review_act.assign_do"))
        await visitor.reads(words("review_said.assigned"))
        await visitor.act(words("review_act.note"), words("review_act.note_do"), reason="liguei hoje cedo")
        await visitor.reads(words("review_said.noted"))
        await visitor.reads("liguei hoje cedo")
        await clean(visitor)
        await visitor.act(words("review_act.resend"), words("review_act.resend"), reason=WHY)
        await visitor.reads(words("review_said.decided"))
    await stage.reaches(claim_id, ClaimState.ACCEPTED)
    assert stage.times_taken(number) == 1


async def test_a_corrected_file_is_told_what_is_wrong_with_it_and_then_sent(
    stage: Live, people: People, tmp_path: Path
) -> None:
    number, claim_id = await stopped(stage, CARD)
    right = file_text(str(number), first=number)
    (wrong := tmp_path / "wrong.xml").write_bytes(file_bytes(right.replace(">225125<", ">x<")))
    (mended := tmp_path / "mended.xml").write_bytes(file_bytes(right.replace("GP-", "GQ-")))
    async with people.one(Role.REGISTRATION) as visitor:
        correct = visitor.words("review_act.correct"), visitor.words("review_act.correct_do")
        await visitor.go(f"/claims/{claim_id}")
        await visitor.act(*correct, file=str(wrong), reason=WHY)
        await visitor.reads(visitor.words("file_refused.title"))
        await visitor.reads("CBOS")
        visitor.errors.clear()  # the browser notes that the file was refused
        await clean(visitor)
        await visitor.press(visitor.words("file_refused.back"))
        await visitor.act(*correct, file=str(mended), reason=WHY)
        await visitor.reads(visitor.words("review_said.corrected"))
    await stage.reaches(claim_id, ClaimState.ACCEPTED)
    [taken] = [one for one in stage.simulator.ledger.entries if one.lote == str(number) and one.protocol]
    assert taken.guides == (f"GQ-{number}",)


async def test_a_protocol_is_recorded_by_who_has_the_receipt(stage: Live, people: People) -> None:
    number, claim_id = await stopped(stage, LOST, ClaimState.WAITING)
    entry = stage.simulator.ledger.taken(PAYER, str(number))
    assert entry is not None
    async with people.one(Role.BILLING) as visitor:
        await visitor.go(f"/claims/{claim_id}")
        await visitor.act(visitor.words("claim.wake"), visitor.words("claim.wake"), reason=WHY)
        await stage.reaches(claim_id, ClaimState.IN_REVIEW)
        await visitor.go(f"/claims/{claim_id}")
        given = {"protocol": str(entry.protocol), "unchecked": "yes", "reason": WHY}
        await visitor.act(
            visitor.words("review_act.protocol"), visitor.words("review_act.protocol_do"), **given
        )
        await visitor.reads(visitor.words("review_said.recovered"))
    await stage.reaches(claim_id, ClaimState.ACCEPTED)
    assert stage.times_taken(number) == 1


async def test_a_group_is_released_by_one_order_and_its_history_is_kept(stage: Live, people: People) -> None:
    made = [await stopped(stage, CARD) for _ in range(3)]
    async with people.one(Role.BILLING) as visitor:
        words = visitor.words
        await visitor.go(f"/reviews/group?payer={PAYER}&category=INVALID_PATIENT_DATA")
        await clean(visitor)
        await visitor.press(words("bulk_act.CORRECTED"))
        await clean(visitor)
        await visitor.page.locator("textarea[name=reason]").fill(WHY)
        await visitor.press(f"{words('bulk.do')}: {words.counted('claims.found', 3)}")
        await visitor.reads(words("bulk_state.DONE"))
        await clean(visitor)
        await visitor.go("/reviews/bulk")
        await visitor.reads(WHY)
        await clean(visitor)
    for number, claim_id in made:
        await stage.reaches(claim_id, ClaimState.ACCEPTED)
        assert stage.times_taken(number) == 1


async def test_a_write_off_waits_for_a_second_person(stage: Live, people: People) -> None:
    number, claim_id = await stopped(stage, REFUSED)
    async with people.one(Role.BILLING_MANAGEMENT) as first, people.one(SECOND[people.language]) as second:
        words = first.words
        await first.go(f"/claims/{claim_id}")
        await first.act(words("review_act.write_off"), words("review_act.propose_do"), reason=WHY)
        await first.page.wait_for_url(re.compile(r"/reviews/bulk/\d+$"))
        await first.reads(words("bulk.waits"))
        await second.go(first.page.url.removeprefix(first.base))
        await clean(second)
        await second.page.locator("textarea[name=reason]").first.fill("de acordo")
        await second.press(words("bulk.confirm"))
        await second.reads(words("bulk_state.DONE"))
    await stage.reaches(claim_id, ClaimState.WRITTEN_OFF)
    assert stage.times_taken(number) == 0


async def test_a_payer_is_paused_resumed_tripped_and_probed(stage: Live, people: People) -> None:
    payer = STEERED[people.language]
    steps: Mapping[str, PayerState] = {
        "pause": PayerState.PAUSED,
        "resume": PayerState.CLOSED,
        "trip": PayerState.OPEN,
        "probe": PayerState.HALF_OPEN,
    }
    said = {"pause": "paused", "resume": "resumed", "trip": "tripped", "probe": "probed"}
    async with people.one(Role.OPERATIONS) as visitor:
        await visitor.go(f"/payers/{payer}")
        for act, state in steps.items():
            await visitor.act(
                visitor.words(f"payer_act.{act}"), visitor.words(f"payer_act.{act}"), reason=WHY
            )
            await visitor.reads(visitor.words(f"payer_said.{said[act]}"))
            await visitor.reads(visitor.words(f"payer_means.{state}"))
            await clean(visitor)
    orders = await stage.app.store.look(lambda tx: tx.orders.about_payer(payer, 10))
    assert sorted(one.action for one in orders) == sorted(steps)


async def test_letters_are_read_sent_again_and_removed(stage: Live, people: People) -> None:
    first, company = {"pt": 0, "en": 100}[people.language], f"clinica-{people.language}"
    now, cipher = await stage.app.clock.now(), stage.app.cipher
    ids = await keep_dead(stage.app.store, range(first, first + 4), cipher=cipher, at=now, company_id=company)
    async with people.one(Role.OPERATIONS) as visitor:
        words = visitor.words
        await visitor.go(f"/letters/{ids[0]}")
        await visitor.act(words("letters.read"), words("letters.read"), reason=WHY)
        await visitor.reads(f"number-{first}@hospital.example")
        await clean(visitor)
        await visitor.act(words("letters.redrive_one"), words("letters.redrive_one"), reason=WHY)
        await eventually(lambda: _arrived(stage, first, 1), 60)
        await visitor.go(f"/letters?company={company}")
        await visitor.press(words("letters.redrive"))
        await clean(visitor)
        await visitor.page.locator("textarea[name=reason]").fill(WHY)
        await visitor.press(words.counted("letters.do_redrive", 3))
        await eventually(lambda: _arrived(stage, first, 4), 60)
        await keep_dead(
            stage.app.store, range(first + 50, first + 52), cipher=cipher, at=now, company_id=company
        )
        await visitor.go(f"/letters?company={company}")
        await clean(visitor)
        await visitor.press(words("letters.purge"))
        await visitor.page.locator("textarea[name=reason]").fill(WHY)
        await visitor.page.locator("input[type=checkbox][required]").check()
        await visitor.press(words.counted("letters.do_purge", 2))
        await visitor.reads(words.counted("letters_said.purged", 2))


async def _arrived(stage: Live, first: int, number: int) -> bool:
    wanted = {f"number-{one}@hospital.example" for one in range(first, first + 4)}
    return len({one.to[0] for one in stage.mailbox.arrived} & wanted) == number


async def test_people_are_let_in_given_roles_and_locked_out(stage: Live, people: People) -> None:
    login = f"nova-{people.language}"
    async with people.one(Role.ADMIN) as admin:
        words = admin.words
        await admin.go("/people")
        given = {"login": login, "name": "Nova Pessoa", "role_viewer": "1", "language": people.language}
        await admin.act(words("people.add"), words("people.add"), **given, password="uma senha bem longa")
        await admin.page.wait_for_url(re.compile(f"/people/{login}"))
        await clean(admin)
        await admin.act(words("people.change_roles"), words("account.keep"), role_billing="1")
        await admin.reads(words("role_may.billing"))
        await admin.act(words("people.new_link"), words("people.new_link"))
        link = await admin.page.locator("input.copy").input_value()
        async with people.one(None) as guest:
            await guest.go(link.removeprefix(guest.base))
            await guest.press(words_of("pt")("login.enter"))
            await guest.reads(words("today.title"))
        for act, state in (("disable", "off"), ("enable", "on")):
            await admin.act(words(f"people.{act}"), words(f"people.{act}"))
            await admin.reads(words(f"people.{state}"))
    kept = await stage.app.store.look(lambda tx: tx.people.find(login))
    assert kept is not None
    assert (set(kept.roles), kept.disabled_at) == ({Role.VIEWER, Role.BILLING}, None)


async def test_somebody_changes_their_own_password(stage: Live, people: People) -> None:
    async with people.one(Role.QUALITY) as visitor:
        await visitor.go("/account")
        await visitor.page.locator("input[name=old]").fill(PASSWORD)
        await visitor.page.locator("input[name=password]").fill("outra senha bem longa")
        await visitor.press(visitor.words("own_password.keep"))
        await visitor.reads(visitor.words("own_password.changed"))
    async with people.one(Role.QUALITY, password="outra senha bem longa") as visitor:
        await visitor.reads(visitor.words("today.title"))


async def test_a_filter_is_kept_found_again_and_forgotten(stage: Live, people: People) -> None:
    await stopped(stage, REFUSED)
    async with people.one(Role.REGISTRATION) as visitor:
        words = visitor.words
        await visitor.go("/claims?state=review")
        await visitor.act(words("saved.keep"), words("saved.do"), name="Minhas paradas")
        await visitor.go("/claims")
        await visitor.press("Minhas paradas")
        await visitor.page.wait_for_url(re.compile("state=review"))
        await clean(visitor)
        await visitor.press(words("saved.forget", name="Minhas paradas"))
        await expect(visitor.page.get_by_text("Minhas paradas")).to_have_count(0, timeout=PATIENCE_MS)


async def test_the_language_is_chosen_and_chosen_back(stage: Live, people: People) -> None:
    other = {"pt": "en", "en": "pt"}[people.language]
    async with people.one(Role.VIEWER) as visitor:
        for chosen in (other, people.language):
            await visitor.go("/account")
            await visitor.page.locator(f"input[name=language][value={chosen}]").check()
            await visitor.page.locator("form[action='/account/language'] button").click()
            await visitor.reads(words_of(chosen)("account.title"))
            await expect(visitor.page.locator("html")).to_have_attribute("lang", words_of(chosen).tag)
            await clean(visitor)
