"""What boards make of records: runs of a payer's states, how urgent a certificate is, codes in words."""

import re
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise

import pytest

from domain.bulk_orders import BulkAction
from domain.mail.codes import ALSO_PERMANENT, ALSO_RETRYABLE, PERMANENT, RETRYABLE, OwnCode
from domain.payer_status import PayerState, PayerStatus
from gateways.tiss.certificates import CertificateEnd, CertificateUse
from persistence.repositories.payer_traffic import PayerMove
from tests.support.builders import NOW, later
from tests.support.console_stage import ZONE
from workers.console.views.letter_board import kind_of
from workers.console.views.payer_board import certificate_view
from workers.console.views.shapes import StateShape, Tone
from workers.console.views.strips import parts, percents_of, strip, told
from workers.console.views.times import Times
from workers.console.views.trail import action_name, reason_told
from workers.console.views.trends import TrendPoint, TrendTarget, trend_line
from workers.console.words import words_of

PT = words_of("pt")
TIMES = Times(NOW, ZONE, PT)


def move(days: float, before: PayerState, after: PayerState) -> PayerMove:
    return PayerMove("p", later(days=-days), before, after)


def test_a_week_without_moves_is_one_run() -> None:
    [run] = parts([], PayerStatus("p", later(days=-30)), NOW)
    assert (run.state, run.lasts) == (PayerState.CLOSED, timedelta(days=7))


def test_before_a_payer_was_known_nothing_is_told_of_it() -> None:
    runs = parts([], PayerStatus("p", later(days=-2)), NOW)
    assert [(run.state, run.lasts.days) for run in runs] == [(None, 5), (PayerState.CLOSED, 2)]
    assert told(runs, PT) == "Nos últimos 7 dias: sem registro 71 %, recebendo 29 %"


def test_moves_cut_the_week_into_runs_and_older_or_later_ones_do_not_count() -> None:
    moves = [
        move(9, PayerState.OPEN, PayerState.CLOSED),
        move(3, PayerState.CLOSED, PayerState.OPEN),
        move(2.999, PayerState.OPEN, PayerState.CLOSED),
        move(-1, PayerState.CLOSED, PayerState.PAUSED),
    ]
    runs = parts(moves, PayerStatus("p", later(days=-2)), NOW)
    assert [run.state for run in runs] == [PayerState.CLOSED, PayerState.OPEN, PayerState.CLOSED]
    assert sum((run.lasts for run in runs), timedelta()) == timedelta(days=7)
    assert told(runs, PT) == "Nos últimos 7 dias: recebendo 99 %, fora do ar 1 %"  # not 100, not 0
    assert strip(runs, PT).count("<rect") == 3


@pytest.mark.parametrize(
    ("left", "tone", "shape", "said"),
    [
        (timedelta(days=200), Tone.DONE, StateShape.CHECK, "vence em 200 dias"),
        (timedelta(days=20), Tone.WAITING, StateShape.CLOCK, "vence em 20 dias"),
        (timedelta(days=1.5), Tone.STOPPED, StateShape.WARNING, "vence em 1 dia"),
        (timedelta(days=-1), Tone.STOPPED, StateShape.WARNING, "vencido"),
        (None, Tone.STOPPED, StateShape.WARNING, "não pôde ser lido"),
    ],
)
def test_a_certificate_is_as_urgent_as_its_days(
    left: timedelta | None, tone: Tone, shape: StateShape, said: str
) -> None:
    view = certificate_view(CertificateEnd(CertificateUse.OWN, NOW + left if left else None), TIMES)
    assert (view.tone, view.shape) == (tone, shape)
    assert view.text.endswith(said)


@pytest.mark.parametrize("code", sorted({*RETRYABLE, *PERMANENT, *ALSO_RETRYABLE, *ALSO_PERMANENT, *OwnCode}))
def test_every_code_of_the_documents_has_a_reason_and_a_remedy_in_words(code: str) -> None:
    assert kind_of(code) != "other"
    for words in (PT, words_of("en")):
        assert words.knows(f"letter_why.{kind_of(code)}")
        assert words.knows(f"letter_helps.{kind_of(code)}")


def test_a_line_has_gaps_where_nothing_is_known_and_needs_two_points() -> None:
    points = [TrendPoint(str(n), Fraction(n) if n != 2 else None, str(n)) for n in range(5)]
    drawn = trend_line(points, [TrendTarget(Fraction(3), "≥ 3")], "a <title>")
    assert drawn.count("<circle") == 4
    assert drawn.count("M") == 2  # the line begins anew after the gap
    assert "a &lt;title&gt;" in drawn
    assert trend_line(points[:1], [], "x") == ""


@pytest.mark.parametrize("aims", [(85, 80), (81, 80), (0, 0), (100, 99, 98)])
def test_targets_are_named_beside_the_line_and_not_on_each_other(aims: tuple[int, ...]) -> None:
    points = [TrendPoint(str(n), Fraction(n * 25), str(n)) for n in range(5)]
    drawn = trend_line(points, [TrendTarget(Fraction(aim), f"≥ {aim} %") for aim in aims], "x")
    named = re.findall(r'<text class="aim" x="([\d.]+)" y="([\d.]+)"', drawn)
    rightmost = max(float(x) for x in re.findall(r'cx="([\d.]+)"', drawn))
    heights = [float(y) for _, y in named]
    assert len(named) == len(aims)
    assert all(float(x) > rightmost + 2.5 for x, _ in named)
    assert all(below - above >= 12 for above, below in pairwise(heights))
    assert all(10 <= y <= 120 for y in heights)


@pytest.mark.parametrize(
    "times",
    [
        [1],
        [1, 1, 1],
        [996, 2, 1, 1],
        [494, 493, 5, 4, 4],
        [2, 2, 2],
        [100_000, 1, 1, 1, 1, 1],
        [335, 335, 330],
    ],
)
def test_the_shares_of_a_week_make_all_of_it_and_none_is_nothing(times: list[int]) -> None:
    percents = percents_of(times)
    assert sum(percents) == 100
    assert min(percents) >= 1
    assert list(percents) == sorted(percents, reverse=True)


@pytest.mark.parametrize("action", BulkAction)
@pytest.mark.parametrize("what", ["", " confirmed", " stopped"])
def test_an_order_about_many_is_told_by_its_name(action: BulkAction, what: str) -> None:
    assert action_name(f"bulk {action}{what}", PT) != PT("order_of.other")


def test_roles_that_were_given_are_told_by_their_names() -> None:
    assert reason_told("person roles", "guest: billing, viewer", PT) == "guest: Faturamento, Consulta"
    assert reason_told("person add", "guest: of_another_version", PT) == "guest: of_another_version"
    assert reason_told("person disable", "viewer", PT) == "viewer"
    assert reason_told("cancel", "see: viewer", PT) == "see: viewer"


def test_an_order_that_nobody_has_named_is_an_order() -> None:
    assert [action_name(one, PT) for one in ("", "x", "bulk x")] == [PT("order_of.other")] * 3
