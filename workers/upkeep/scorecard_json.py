"""A scorecard for other programs: the same for whoever asks on the command line or over HTTP."""

from datetime import datetime

from domain.kpis.definitions import Target
from domain.kpis.periods import Period
from domain.kpis.tally import KpiTally
from workers.upkeep.scorecard import AskedKpis, Score, Scorecard


def scorecard_json(card: Scorecard, asked: AskedKpis) -> dict[str, object]:
    """Values as numbers and, exact, as fractions."""
    return {
        "payer": asked.payer_id,
        "zone": str(asked.zone),
        "kpis": [_score_json(score) for score in card.scores],
        "periods": [_period_json(period, tally, asked.now) for period, tally in card.tallies],
    }


def _score_json(score: Score) -> dict[str, object]:
    measure, value = score.measure, score.measure.value
    return {
        "kpi": score.kpi.name.value,
        "title": score.kpi.title,
        "formula": score.kpi.formula,
        "frequency": score.kpi.frequency.value,
        "unit": score.kpi.unit.value,
        "period": {"first": str(score.period.first), "last": str(score.period.last)},
        "value": None if value is None else float(value),
        "exact": None if value is None else str(value),
        "numerator": measure.numerator,
        "denominator": measure.denominator,
        "claims": measure.claims,
        "open": measure.running,
        "endedByDeadline": measure.by_deadline,
        "before": None if score.before.value is None else float(score.before.value),
        "trend": score.trend,
        "lately": [None if one is None else float(one) for one in score.line],
        "targets": [_target_json(score, target) for target in score.kpi.targets],
    }


def _target_json(score: Score, target: Target) -> dict[str, object]:
    met = target.is_met(score.measure)
    return {"rule": target.rule, "bound": target.bound.value, "value": float(target.value), "met": met}


def _period_json(period: Period, tally: KpiTally, now: datetime) -> dict[str, object]:
    numbers = {name: getattr(tally, name) for name in KpiTally.__dataclass_fields__}
    return {"first": str(period.first), "last": str(period.last), "isOver": period.end <= now} | numbers
