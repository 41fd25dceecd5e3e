"""People as a provider tells of them: one person per subject, whatever the rest of a token holds."""

import asyncio

import pytest

from domain.access import Role
from persistence.store import Store
from tests.support.builders import NOW
from workers.config.oidc import OidcSettings
from workers.console.access.provided import let_in, read_told

TERMS = OidcSettings(
    "https://login.example", "reenvio", "secret", "openid", "groups", {"g": frozenset({Role.BILLING})}
)


async def test_a_subject_that_comes_in_many_times_at_once_is_one_person(store: Store) -> None:
    told = read_told({"sub": "u-1", "preferred_username": "bia", "groups": ["g"]}, TERMS)
    found = await asyncio.gather(*(store.run(lambda tx: let_in(tx, told, NOW)) for _ in range(5)))
    assert {person.login for person in found if person} == {"bia"}
    assert len({person.person_id for person in found if person}) == 1
    assert len(await store.look(lambda tx: tx.audit.of_claim("@orders"))) == 1


@pytest.mark.parametrize(
    "claims",
    [
        {"name": "a\0b", "preferred_username": "x\0y"},
        {"name": "\ud800", "preferred_username": "\ud800"},
        {"name": ["a"], "preferred_username": {"a": 1}},
        {"name": "n" * 5_000, "preferred_username": "p" * 5_000},
        {"name": None, "preferred_username": 7},
        {"name": " ", "preferred_username": "..", "groups": ["g", None, 7, {"g": 1}]},
    ],
    ids=["nul", "half a character", "no texts", "long", "none", "odd groups"],
)
async def test_what_no_column_can_hold_keeps_nobody_out(store: Store, claims: dict[str, object]) -> None:
    told = read_told({"sub": "u-1", "groups": ["g"], **claims}, TERMS)
    person = await store.run(lambda tx: let_in(tx, told, NOW))
    assert person
    assert person.roles == {Role.BILLING}
    assert 0 < len(person.name) <= 120


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_the_same_subject_of_another_provider_is_another_person(store: Store) -> None:
    for issuer in ("https://login.example", "https://evil.example"):
        terms = OidcSettings(issuer, "reenvio", "secret", "openid", "groups", TERMS.roles)
        told = read_told({"sub": "u-1", "preferred_username": "bia", "groups": "g"}, terms)
        assert await store.run(lambda tx, told=told: let_in(tx, told, NOW))  # type: ignore[misc]
    assert len(await store.look(lambda tx: tx.people.all())) == 2


@pytest.mark.parametrize("groups", [None, [], "", "G", ["billing"], {"g": True}, ["a", "p"], 7])
def test_no_group_of_ours_is_no_role(groups: object) -> None:
    roles = {**TERMS.roles, "a": frozenset({Role.AUDITOR}), "p": frozenset({Role.ADMIN})}
    terms = OidcSettings("https://login.example", "reenvio", "secret", "openid", "groups", roles)
    assert read_told({"sub": "u-1", "groups": groups}, terms).roles == frozenset()
