"""Reading a policy file: what is accepted, what each mistake is told, reloading, fingerprints."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from domain.backoff import RetryLimits
from domain.catalog import Team
from domain.errors import InvalidPolicy
from domain.policy import EmptyError, GiveUp, RuleIds
from workers.config.idempotency import IdempotencySettings
from workers.policy import PolicySource, load_policy, parse_policy
from workers.policy.file import FILE_MAX_BYTES, default_text
from workers.policy.tools.lint import lint

TEXT = default_text()


def changed(*changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidPolicy) as refused:
        parse_policy(text)
    return refused.value.problems


def test_the_packaged_policy_has_the_rules_numbers() -> None:
    policy = load_policy()
    assert policy.limits == RetryLimits()
    assert policy.profile.name == "RN-BIL-004"
    assert policy.zone == ZoneInfo("America/Sao_Paulo")
    assert policy.on_give_up is GiveUp.THROW
    assert policy.profiles["RN-BIL-004"].empty_error is EmptyError.REJECT
    assert policy.profiles["RN-BIL-005"].empty_error is EmptyError.ASSUME_TRANSIENT
    assert policy.expectations.outage_minutes == (60, 120, 240)


def test_a_file_is_read_like_the_packaged_one(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TEXT, encoding="utf-8")
    assert load_policy(file) == load_policy()


def test_minutes_may_have_a_fraction() -> None:
    policy = parse_policy(
        changed(("min_minutes = 5", "min_minutes = 5.5"), ("base_minutes = 5", "base_minutes = 6.25"))
    )
    assert (policy.limits.floor_seconds, policy.limits.base_seconds) == (330, 375)


def test_the_fingerprint_follows_the_content_and_not_the_comments() -> None:
    policy = load_policy()
    assert parse_policy("# a comment\n" + TEXT).label == policy.label
    assert parse_policy(changed(("max_retries = 5", "max_retries = 4"))).label != policy.label
    assert len(policy.fingerprint) == 8


def test_a_payer_has_its_own_limits_and_entries() -> None:
    policy = parse_policy(
        TEXT + '[payers.302147]\nalso_transient = ["TISS:5014"]\n[payers.302147.limits]\nmax_retries = 4\n'
        "max_minutes = 200\n"
    )
    own = policy.under("RN-BIL-005").for_payer("302147")
    assert own.limits == RetryLimits(max_retries=4, cap_seconds=12_000)
    assert own.catalog.codes["TISS:5014"].category == "ALSO_TRANSIENT"
    assert own.profile.name == "RN-BIL-005"
    assert own.fingerprint != policy.fingerprint
    assert policy.for_payer("999999") is policy
    assert policy.for_payer(None) is policy


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [("max_retries = 5", 'max_retries = "5"', "limits.max_retries: Input should be a valid integer"),
     ("max_retries = 5", "max_retries = 5.5", "limits.max_retries: Input should be a valid integer"),
     ("max_retries = 5", "max_retries = 0", "max_retries is 0: choose 1 to 50"),
     ("max_retries = 5", "retries = 5", "limits.retries: no such name is known here"),
     ("max_minutes = 240", "max_minutes = 4", "waits are shortest 300 s, first 300 s, longest 240 s"),
     ("max_minutes = 240", "max_minutes = inf", "limits.max_minutes: Input should be"),
     ('zone = "America/Sao_Paulo"', 'zone = "Mars/Base"', 'zone is "Mars/Base": choose a name such as'),
     ('zone = "America/Sao_Paulo"', 'zone = "../x"', 'zone is "../x": choose a name such as'),
     ('profile = "RN-BIL-004"', 'profile = "RN-X"', 'profile is "RN-X": choose one of RN-BIL-004'),
     ('version = "1"', 'version = ""', "version: String should match pattern"),
     ('class = "permanent"', 'class = "maybe"', "categories.INVALID_PATIENT_DATA.class: Input should be"),
     ('"TIMEOUT", "TIME_OUT"', '"time out", "TIME_OUT"', '"TIME_OUT" is in TIMEOUT and in TIMEOUT'),
     ('tiss = ["3160"]', 'tiss = ["1001"]', '"TISS:1001" is in INVALID_PATIENT_DATA and in TIMEOUT'),
     ('tiss = ["3160"]', 'tiss = ["31600"]', "categories.TIMEOUT.tiss.0: String should match pattern"),
     ('"Retry {attempt} of {limit}"', '"Retry"', "profiles.RN-BIL-004.reason: a reason names"),
     ('version = "1"', "version = ", "not a TOML file: Invalid value")],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(old: str, new: str, told: str) -> None:
    assert any(problem.startswith(told) for problem in problems(changed((old, new))))


def test_several_mistakes_are_told_at_once() -> None:
    assert (
        len(problems(changed(("max_retries = 5", 'max_retries = "x"'), ('version = "1"', "version = 1"))))
        == 2
    )


def test_a_payers_mistake_names_the_payer() -> None:
    told = problems(TEXT + "[payers.302147.limits]\nmax_retries = 0\n")
    assert told == ("payer 302147: max_retries is 0: choose 1 to 50",)


@pytest.mark.parametrize("entry", ["x", "ab", "", "a:b", "TISS:", "_ab", "a\\nb"])
def test_an_entry_too_short_to_mean_anything_is_refused(entry: str) -> None:
    assert "an entry is a word" in problems(TEXT + f'[payers.1]\nalso_permanent = ["{entry}"]\n')[0]


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    big, binary = tmp_path / "big.toml", tmp_path / "binary.toml"
    big.write_bytes(b"#" * (FILE_MAX_BYTES + 1))
    binary.write_bytes(b"\xff\xfe")
    for path, words in (
        (tmp_path / "none.toml", "cannot read"),
        (big, "is larger than"),
        (binary, "is not UTF-8"),
    ):
        with pytest.raises(InvalidPolicy, match=words):
            load_policy(path)


def test_a_reload_takes_the_new_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TEXT, encoding="utf-8")
    source = PolicySource(file)
    before = source.current()
    file.write_text(changed(("max_retries = 5", "max_retries = 4")), encoding="utf-8")
    assert source.current() is before
    assert source.reload().limits.max_retries == 4
    assert source.current().limits.max_retries == 4


def test_a_reload_of_a_bad_file_keeps_the_old_policy_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TEXT, encoding="utf-8")
    source = PolicySource(file)
    before = source.current()
    file.write_text(changed(("max_retries = 5", "max_retries = 0")), encoding="utf-8")
    with pytest.raises(InvalidPolicy, match=r"choose 1 to 50; policy 1\+\w{8} stays in force"):
        source.reload()
    assert source.current() is before


def test_no_deadline_is_said_to_follow_from_a_norm_that_nobody_could_confirm() -> None:
    assert {profile.rules.deadline for profile in load_policy().profiles.values()} == {"BIL-005 10.1"}
    assert RuleIds("a", "b", "c", "d").deadline == "BIL-005 10.1"
    assert "IN 41" not in default_text()


def test_a_category_may_name_its_team_out_of_three() -> None:
    other = default_text().replace(
        'class = "permanent"\nteam = "REGISTRATION"', 'class = "permanent"\nteam = "OPERATIONS"'
    )
    teams = {category.team for category in parse_policy(other).catalog.categories}
    assert teams == {None, Team.BILLING_MANAGEMENT, Team.OPERATIONS}
    with pytest.raises(InvalidPolicy, match=r"categories\.INVALID_PATIENT_DATA\.team: .*'REGISTRATION'"):
        parse_policy(default_text().replace('team = "REGISTRATION"', 'team = "CADASTRO"'))


def test_a_transient_category_has_no_team() -> None:
    text = default_text().replace('class = "transient"', 'class = "transient"\nteam = "OPERATIONS"', 1)
    with pytest.raises(
        InvalidPolicy, match="a transient category has no team: spent retries reach BILLING_MANAGEMENT"
    ):
        parse_policy(text)


def test_the_example_at_the_end_of_the_packaged_policy_is_one_that_lints_clean() -> None:
    head, example = TEXT.split("# Per payer", maxsplit=1)
    lines = example.splitlines()[1:]
    assert all(line.startswith("#   ") for line in lines)
    policy = parse_policy(head + "\n".join(line.removeprefix("#   ") for line in lines))
    [payer] = policy.payers
    assert policy.for_payer(payer).limits != policy.limits
    assert [found.finding for found in lint(policy, IdempotencySettings()) if payer in found.finding] == []
