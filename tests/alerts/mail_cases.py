"""Worlds for the alerts of mail and of Redis."""

from tests.alerts.case import Case, once, rising, steady


def letters(number: float) -> dict[str, str]:
    """Dead letters, as each of two workers reads them from the database."""
    return {f'dlq_size{{instance="{one}"}}': steady(number) for one in "ab"}


def of_company(company: str, number: float) -> dict[str, str]:
    """The dead letters of one company."""
    return {f'reenvio_dead_letters{{instance="{one}", company="{company}"}}': steady(number) for one in "ab"}


def mails(sent: float, waits: float, died: float, moved_in: float | None = None) -> dict[str, str]:
    """Attempts per step by what became of them, and how many of those who died found room."""
    fates = {"sent": sent, "waits": waits, "died": died}
    counted = {
        f'reenvio_mails_total{{instance="a", fate="{fate}"}}': rising(rate) for fate, rate in fates.items()
    }
    return counted | {'dlq_entries_total{instance="a"}': rising(died if moved_in is None else moved_in)}


def redis(used: float, most: float = 512e6) -> dict[str, str]:
    """A Redis with so much of its memory used."""
    return {
        'reenvio_redis_memory_used_bytes{instance="a"}': steady(used),
        'reenvio_redis_memory_max_bytes{instance="a"}': steady(most),
    }


REJECTED = 'reenvio_redis_rejected_connections_total{instance="a"}'
OLDEST = 'reenvio_mail_oldest_seconds{instance="a"}'


def passed_over(rounds: float, fair: float, elsewhere: float = 0) -> dict[str, str]:
    """A company at one worker after so many rounds, and what is fair there; it was just served by another."""
    waits, bound = "tenant_rounds_without_processing", "reenvio_mail_fair_rounds"
    return {
        f'{waits}{{instance="a", company="c1"}}': steady(rounds),
        f'{bound}{{instance="a"}}': steady(fair),
        f'{waits}{{instance="b", company="c1"}}': steady(0),
        f'{bound}{{instance="b"}}': steady(elsewhere),
    }


MANY, HIGH = frozenset({"ReenvioDeadLettersMany"}), frozenset({"ReenvioRedisMemoryHigh"})

MAIL_CASES = (
    Case("ReenvioDeadLettersMany", "101, seen by two workers", letters(101), 5, {}),
    Case("ReenvioDeadLettersMany", "100, seen by two workers", letters(100), 5),
    Case("ReenvioDeadLetterShare", "3 % of what ends", mails(97, 5, 3), 90, {}),
    Case("ReenvioDeadLetterShare", "1 % of what ends", mails(99, 5, 1), 90),
    Case("ReenvioDeadLetterShare", "3 %, and the dead letters are full", mails(97, 5, 3, moved_in=0), 90, {}),
    Case("ReenvioDeadLetterShare", "4 of 8 in an hour", mails(4 / 60, 0, 4 / 60), 90),
    Case("ReenvioDeadLettersOfCompany", "51", of_company("c1", 51), 5, {"company": "c1"}),
    Case("ReenvioDeadLettersOfCompany", "50", of_company("c1", 50), 5),
    Case("ReenvioDeadLettersOfCompany", "51 of many small ones together", of_company("other", 51), 5),
    Case("ReenvioDeadLettersFull", "9,000", letters(9_000), 5, {}, also=MANY),
    Case("ReenvioDeadLettersFull", "8,999", letters(8_999), 5, also=MANY),
    Case("ReenvioMailFailures", "11 % of the attempts", mails(89, 11, 0), 60, {}),
    Case("ReenvioMailFailures", "9 % of the attempts", mails(91, 9, 0), 60),
    Case("ReenvioMailFailures", "3 of 4 in half an hour", mails(1 / 30, 3 / 30, 0), 60),
    Case("ReenvioMailSlow", "the oldest is 301 s old", {OLDEST: steady(301)}, 5, {}),
    Case("ReenvioMailSlow", "the oldest is 300 s old", {OLDEST: steady(300)}, 5),
    Case("ReenvioCompanyPassedOver", "3 rounds, with 3 waiting", passed_over(3, 2), 10, {"company": "c1"}),
    Case("ReenvioCompanyPassedOver", "2 rounds, with 3 waiting", passed_over(2, 2), 10),
    Case("ReenvioCompanyPassedOver", "1,023 rounds, all of 1,024 lanes full", passed_over(1_023, 1_023), 10),
    Case("ReenvioCompanyPassedOver", "fair here, and fewer wait elsewhere", passed_over(63, 63, 2), 10),
    Case("ReenvioRedisMemoryHigh", "81 %", redis(0.81 * 512e6), 10, {}),
    Case("ReenvioRedisMemoryHigh", "80 %", redis(0.80 * 512e6), 10),
    Case("ReenvioRedisMemoryHigh", "a Redis without a limit", redis(9e9, most=0), 10),
    Case(
        "ReenvioRedisMemoryCritical",
        "91 %",
        redis(0.91 * 512e6),
        10,
        {},
        also=HIGH,
    ),
    Case(
        "ReenvioRedisMemoryCritical",
        "90 %",
        redis(0.90 * 512e6),
        10,
        also=HIGH,
    ),
    Case("ReenvioRedisConnectionsRejected", "one more", {REJECTED: once(1, 20)}, 25, {}),
    Case("ReenvioRedisConnectionsRejected", "long ago", {REJECTED: once(1, 20)}, 60),
    Case("ReenvioRedisConnectionsRejected", "before we looked", {REJECTED: steady(7)}, 25),
)
