"""The words of control reports, in the hospital's language and in English."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from domain.kpis.periods import Period

Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReportWords:
    """What reports say: titles and columns by name, teams, causes and states, and how numbers and days are
    written; `run` is a run of days, and a state without a word stays as it is.
    """

    point: str
    day: str
    run: str
    nothing: str
    more: str
    given_up: tuple[str, ...]
    failures: tuple[str, ...]
    scores: tuple[str, ...]
    titles: Words
    teams: Words
    causes: Words
    met: Mapping[bool | None, str]
    kpis: Words | None = None
    states: Words = field(default_factory=dict)

    def period(self, period: Period) -> str:
        """Its day, or its first and last day."""
        first, last = format(period.first, self.day), format(period.last, self.day)
        return first if period.days == 1 else self.run.format(first=first, last=last)


PORTUGUESE = ReportWords(
    point=",",
    day="%d/%m/%Y",
    run="{first} a {last}",
    nothing="Nada a relatar no período.",
    more="Há mais {number}: reenvio report {kind} {option} --limit 100000",
    given_up=("Cobrança", "Operadora", "Quando", "Erro", "Causa", "Tentativas", "Equipe", "Situação"),
    failures=("Nome", "Falhas", "Cobranças", "Novas tentativas", "Permanentes", "Esgotadas"),
    scores=("Indicador", "Regra", "Valor", "Meta", "Atingida", "Período anterior", "Em aberto"),
    titles=MappingProxyType(
        {
            "category": "Por tipo de erro",
            "claims": "Cobranças",
            "payer": "Por operadora",
            "kpis": "Indicadores",
            "retries": "Recuperadas por tentativa",
            "retry": "Tentativa",
            "recovered": "Recuperadas",
            "success": "Taxa de sucesso",
            "of": "Recuperadas / encerradas",
            "open": "Em aberto",
            "people": "Recuperadas por pessoas",
            "untimed": "Recuperadas fora dos tempos, pois um relógio foi atrasado",
            "number": "Cobranças",
            "decisions": "Decisões",
            "error": "Erro",
        }
    ),
    teams=MappingProxyType(
        {
            "REGISTRATION": "Cadastro",
            "BILLING_MANAGEMENT": "Gestão de Faturamento",
            "OPERATIONS": "Operações",
            "DATA_ANALYSIS": "Análise de Dados",
            "QUALITY": "Equipe de Qualidade",
            "BILLING": "Equipe de Faturamento",
            "IT_MANAGEMENT": "Gestor de TI",
        }
    ),
    causes=MappingProxyType({"RETRIES": "tentativas", "DEADLINE": "prazo"}),
    met=MappingProxyType({True: "sim", False: "NÃO", None: "-"}),
    states=MappingProxyType(
        {
            "RECEIVED": "Recebida",
            "SUBMITTING": "Enviando",
            "FAILED": "Falhou",
            "WAITING": "Aguardando reenvio",
            "IN_REVIEW": "Em revisão",
            "ACCEPTED": "Aceita",
            "CANCELLED": "Cancelada",
            "WRITTEN_OFF": "Baixada",
        }
    ),
)
ENGLISH = ReportWords(
    point=".",
    day="%Y-%m-%d",
    run="{first}..{last}",
    nothing="Nothing to report in this period.",
    more="There are {number} more: reenvio report {kind} {option} --limit 100000",
    given_up=("Claim", "Payer", "When", "Error", "Cause", "Attempts", "Team", "State"),
    failures=("Name", "Failures", "Claims", "Retries", "Permanent", "Exhausted"),
    scores=("KPI", "Rule", "Value", "Target", "Met", "Period before", "Open"),
    titles=MappingProxyType(
        {
            "category": "By kind of error",
            "claims": "Claims",
            "payer": "By payer",
            "kpis": "KPIs",
            "retries": "Recovered by attempt",
            "retry": "Retry",
            "recovered": "Recovered",
            "success": "Success rate",
            "of": "Recovered / closed",
            "open": "Open",
            "people": "Recovered by people",
            "untimed": "Recovered and left out of times, since a clock was set back",
            "number": "Claims",
            "decisions": "Decisions",
            "error": "Error",
        }
    ),
    teams=MappingProxyType(
        {
            "REGISTRATION": "Registration",
            "BILLING_MANAGEMENT": "Billing management",
            "OPERATIONS": "Operations",
            "DATA_ANALYSIS": "Data analysis",
            "QUALITY": "Quality",
            "BILLING": "Billing",
            "IT_MANAGEMENT": "IT management",
        }
    ),
    causes=MappingProxyType({"RETRIES": "retries", "DEADLINE": "deadline"}),
    met=MappingProxyType({True: "yes", False: "NO", None: "-"}),
    kpis=MappingProxyType(
        {
            "success_after_retry": "Success after retry",
            "mean_attempts": "Mean attempts until success",
            "lost_claims": "Lost claims",
            "time_to_success": "Time to success (median)",
            "mean_time_to_success": "Mean time to success",
            "permanent_errors": "Permanent errors",
            "exhausted": "Exhausted",
        }
    ),
)
LANGUAGES: Mapping[str, ReportWords] = MappingProxyType({"pt": PORTUGUESE, "en": ENGLISH})
