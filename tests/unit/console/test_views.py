"""What screens say: times as people say them, reasons as sentences, pictures with a text in their place."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from domain.bulk_orders import BulkAction, BulkState, NotDone
from domain.catalog import Team
from domain.claim_state import ClaimState
from domain.kpis.definitions import KPIS
from domain.payer_status import PayerState
from domain.refusals import FileFault, unprocessable
from domain.reviews import ReviewReason
from gateways.tiss import validation
from persistence.repositories.claim_lists import ListedState, ListOrder
from tests.support.builders import NOW, POLICY
from workers.console.pages import bulk, claim_review
from workers.console.views.claim_list import AskedList, read_asked, read_place
from workers.console.views.file_faults import RULES, fault_rows
from workers.console.views.letter_board import read_letter_place
from workers.console.views.pictures import HourBar, bars, spark
from workers.console.views.reasons import category_name, error_sentence, review_cause
from workers.console.views.reviews import read_desk_place
from workers.console.views.times import Times, read_moment
from workers.console.words import LANGUAGES, words_of

ZONE = ZoneInfo("America/Sao_Paulo")  # NOW is 07:40 there
PT = Times(NOW, ZONE, words_of("pt"))


@pytest.mark.parametrize(
    ("hours", "said"),
    [(0, "hoje 07:40"), (1, "hoje 08:40"), (24, "amanhã 07:40"), (-24, "ontem 07:40"), (-72, "09/01 07:40")],
)
def test_a_moment_is_said_as_people_say_it(hours: float, said: str) -> None:
    assert PT.at(NOW + timedelta(hours=hours)).text == said


def test_another_year_is_named_and_the_exact_moment_is_there_to_be_looked_at() -> None:
    last = PT.at(NOW - timedelta(days=300))
    assert (last.text, last.exact) == ("18/03/2025 07:40", "18/03/2025 07:40:00 (-0300)")


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (0.5, "menos de 1 min"),
        (12, "12 min"),
        (90, "1 h 30 min"),
        (120, "2 h"),
        (47 * 60, "47 h"),
        (72 * 60, "3 dias"),
    ],
)
def test_a_duration_is_said_roughly(minutes: float, said: str) -> None:
    assert PT.lasting(timedelta(minutes=minutes)) == said
    assert PT.left(NOW + timedelta(minutes=minutes)).text == f"faltam {said}"


def test_a_deadline_that_is_over_says_so() -> None:
    assert PT.left(NOW - timedelta(hours=3)).text == "vencido há 3 h"


def test_a_refusal_of_the_standard_is_told_in_the_standards_words() -> None:
    said = error_sentence("INVALID_PATIENT_DATA", "INVALID_PATIENT_DATA (TISS:1001)", words_of("pt"))
    assert said == "Número da carteira inválido (TISS 1001)"
    english = error_sentence("INVALID_PATIENT_DATA", "INVALID_PATIENT_DATA (TISS:1001)", words_of("en"))
    assert english == "Card or patient data refused (TISS 1001)"


def test_what_a_payer_wrote_itself_is_never_shown() -> None:
    assert (
        error_sentence("TIMEOUT", "Maria da Silva, CPF 123", words_of("pt"))
        == "A operadora não respondeu a tempo"
    )
    assert category_name("OF_A_POLICY_OF_YOUR_OWN", words_of("pt")) == "Outro motivo"


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_every_kind_of_error_state_team_and_indicator_has_its_words(language: str) -> None:
    words = words_of(language)
    names = [
        *(f"category.{category.name}" for category in POLICY.catalog.categories),
        *(f"state.{state}" for state in ClaimState),
        *(f"payer_state.{state}" for state in PayerState),
        *(f"team.{team}" for team in Team),
        *(f"review.{reason}" for reason in ReviewReason),
        *(f"listed.{state}" for state in ListedState),
        *(f"order.{order}" for order in ListOrder),
        *(f"kpi.{kpi.name}" for kpi in KPIS),
    ]
    assert [name for name in names if not words.knows(name)] == []


def test_a_review_for_an_unknown_reason_waits_for_a_decision() -> None:
    assert review_cause("SOMETHING_NEW", None, words_of("pt")) == "Espera uma decisão"


def test_a_refusal_whose_kind_is_not_on_record_is_a_refusal_all_the_same() -> None:
    assert review_cause("PERMANENT_ERROR", None, words_of("pt")) == "Recusada pela operadora"


def test_an_address_is_read_and_written_the_same() -> None:
    asked = read_asked(
        {"state": "review", "team": "REGISTRATION", "order": "deadline", "risk": "on", "other": "x"}
    )
    assert asked == AskedList(state="review", team="REGISTRATION", order="deadline", risk="1")
    assert asked.address() == "/claims?state=review&team=REGISTRATION&risk=1&order=deadline"


def test_what_an_address_cannot_mean_does_not_narrow() -> None:
    assert read_asked({"state": "none", "order": "none", "text": "  "}) == AskedList()
    assert not AskedList(order="deadline").is_narrowed
    assert read_place({"after": "yesterday"}) is None
    assert read_place({"after": "2026-01-01T00:00:00"}) is None


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "2026-01-11T10:00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026"],
)
def test_a_place_that_no_page_has_named_is_the_beginning(text: str) -> None:
    query = {"after": text, "id": "CLM-1-1"}
    assert [read_place(query), read_desk_place(query), read_letter_place(query)] == [None] * 3


def test_a_place_is_read_in_whatever_zone_it_is_written() -> None:
    assert read_moment("2026-01-11T10:00:00-03:00") == datetime(2026, 1, 11, 13, tzinfo=UTC)


def test_a_picture_says_in_words_what_it_shows_and_escapes_what_is_put_in() -> None:
    drawn = bars([HourBar("<b>", 3), HourBar("17h", 0)], 'three "sends"')
    assert 'role="img" aria-label="three &#34;sends&#34;"' in drawn
    assert "&lt;b&gt;" in drawn
    assert drawn.count("<rect") == 1


def test_a_line_of_one_value_is_no_line_and_a_gap_stays_a_gap() -> None:
    assert spark([Fraction(1)], None, "x") == ""
    assert spark([Fraction(1), None, Fraction(2)], Fraction(1), "x").count("M") == 2


def test_every_fault_that_a_schema_finds_has_its_words() -> None:
    known = {*validation._RULES.values(), validation._ANY_RULE}
    assert set(RULES) == known
    for language in LANGUAGES:
        words = words_of(language)
        assert [name for name in RULES.values() if not words.knows(f"fault.{name}")] == []


def test_an_element_out_of_place_is_told_with_what_is_expected() -> None:
    refusal = unprocessable("file", "x", rule="TISS", remedy="y")
    expected = validation._expectation("Element 'a': This element is not expected. Expected is ( {x}hash ).")
    refusal.faults = (FileFault("guia", expected, 7, 2), FileFault("cabecalho", "an unknown rule"))
    assert [(row.place, row.element, row.text) for row in fault_rows(refusal, words_of("pt"))] == [
        ("linha 7, guia 2", "guia", "este campo não é esperado aqui (esperado: hash)"),
        ("cabeçalho (configuração da operadora: avise a TI)", "cabecalho", "este campo não é esperado aqui"),
    ]


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_every_action_about_many_has_its_words(language: str) -> None:
    words = words_of(language)
    names = [
        *(f"{table}.{action}" for table in ("bulk_act", "bulk_means") for action in BulkAction),
        *(f"bulk_will.{action}.{n}" for action in BulkAction for n in ("one", "many")),
        *(f"bulk_did.{action}.{n}" for action in BulkAction for n in ("one", "many")),
        *(f"bulk_state.{state}" for state in BulkState),
        *(f"not_done.{why}" for why in NotDone),
        *(f"review_said.{said}" for said in claim_review.SAID),
        *(f"bulk.{said}" for said in bulk.SAID),
    ]
    assert [name for name in names if not words.knows(name)] == []
