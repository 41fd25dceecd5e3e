"""What somebody should look at before anything else, each with where it is found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gateways.tiss.certificates import CertificateEnd
from workers.console.views.payer_board import certificate_view, payer_page
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.times import Times

WATCH_BLIND, KPIS_OLD = timedelta(minutes=25), timedelta(hours=26)
"""As the alerts ReenvioWatchBlind and ReenvioKpisOld have it."""


@dataclass(frozen=True, slots=True)
class SeenAlerts:
    """What alerts are made of: claims due soon, letters that lie here, orders that wait for a second person,
    certificates by payer, and when the watch last looked and KPIs were last counted.
    """

    at_risk: int
    letters: int
    proposed: int
    certificates: Mapping[str, Sequence[CertificateEnd]]
    looked: datetime | None
    counted: datetime | None


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One of them; without a link where nothing here shows more of it."""

    state: StateView
    link: str = ""


def alert_rows(seen: SeenAlerts, times: Times) -> Sequence[AlertRow]:
    """The urgent ones first."""
    rows = [*_counted(seen, times), *_certificates(seen, times), *_forgotten(seen, times)]
    return sorted(rows, key=lambda row: row.state.tone is not Tone.STOPPED)


def _counted(seen: SeenAlerts, times: Times) -> Iterator[AlertRow]:
    for name, number, tone, shape, link in (
        ("at_risk", seen.at_risk, Tone.STOPPED, StateShape.CLOCK, "/claims?risk=1&order=deadline"),
        ("letters", seen.letters, Tone.WAITING, StateShape.WARNING, "/letters"),
        ("proposed", seen.proposed, Tone.WAITING, StateShape.PERSON, "/reviews/bulk"),
    ):
        if number:
            yield AlertRow(StateView(tone, shape, times.words.counted(f"alert.{name}", number)), link)


def _certificates(seen: SeenAlerts, times: Times) -> Iterator[AlertRow]:
    for payer, ends in sorted(seen.certificates.items()):
        for view in (certificate_view(one, times) for one in ends):
            if view.tone is not Tone.DONE:
                yield AlertRow(StateView(view.tone, view.shape, f"{payer}: {view.text}"), payer_page(payer))


def _forgotten(seen: SeenAlerts, times: Times) -> Iterator[AlertRow]:
    for name, moment, most in (("watch", seen.looked, WATCH_BLIND), ("kpis", seen.counted, KPIS_OLD)):
        if moment and times.now - moment > most:
            text = times.words(f"alert.{name}", time=times.ago(moment).text)
            yield AlertRow(StateView(Tone.STOPPED, StateShape.WARNING, text))
