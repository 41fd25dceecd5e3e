"""What a corrected file may change, by what the payer has of the first."""

import pytest

from domain.corrections import BatchNumbers, not_in_review, require_correctable
from domain.refusals import Refusal, RefusalKind
from domain.reviews import AtPayer

CLAIM = "CLM-1-1"
BEFORE = BatchNumbers("200", ("G-1", "G-2"))
OTHER_BATCH = BatchNumbers("300", ("G-1", "G-2"))
OTHER_GUIDES = BatchNumbers("200", ("G-1", "G-3"))


@pytest.mark.parametrize("after", [BEFORE, OTHER_BATCH, OTHER_GUIDES])
def test_what_the_payer_has_is_not_corrected(after: BatchNumbers) -> None:
    with pytest.raises(Refusal) as refused:
        require_correctable(CLAIM, BEFORE, after, AtPayer.YES)
    assert (refused.value.kind, refused.value.field) == (RefusalKind.CONFLICT, "claimId")
    assert str(refused.value) == (
        "claimId: the payer has CLM-1-1 already (rule: a claim is sent once). "
        "Decide PROTOCOL_RECOVERED with the number the payer tells you, or WRITE_OFF."
    )


@pytest.mark.parametrize("after", [BEFORE, OTHER_BATCH, OTHER_GUIDES])
def test_what_the_payer_cannot_have_may_change_in_every_number(after: BatchNumbers) -> None:
    require_correctable(CLAIM, BEFORE, after, AtPayer.NO)


@pytest.mark.parametrize(
    ("after", "change", "kept"),
    [
        (OTHER_BATCH, "its batch number is not 200", "batch number"),
        (OTHER_GUIDES, "its guide numbers are not those of the file before", "guide numbers"),
        (
            BatchNumbers("200", ("G-1",)),
            "its guide numbers are not those of the file before",
            "guide numbers",
        ),
    ],
)
def test_what_the_payer_may_have_keeps_its_numbers(after: BatchNumbers, change: str, kept: str) -> None:
    with pytest.raises(Refusal) as refused:
        require_correctable(CLAIM, BEFORE, after, AtPayer.MAYBE)
    assert (refused.value.kind, refused.value.field) == (RefusalKind.CONFLICT, "file")
    assert f"{change}, and that may have reached the payer" in str(refused.value)
    assert refused.value.remedy.startswith(f"Keep the {kept}; or, ")


def test_guides_may_change_their_order() -> None:
    require_correctable(CLAIM, BEFORE, BatchNumbers("200", ("G-2", "G-1")), AtPayer.MAYBE)


@pytest.mark.parametrize("before", [BatchNumbers(None, None), BatchNumbers("200", None)])
def test_numbers_that_are_not_kept_are_not_asked_for(before: BatchNumbers) -> None:
    require_correctable(CLAIM, before, OTHER_GUIDES, AtPayer.MAYBE)


def test_a_correction_outside_a_review_names_the_claim_and_where_to_look() -> None:
    assert str(not_in_review(CLAIM)) == (
        "claimId: CLM-1-1 is not IN_REVIEW (rule: a file is corrected through its review). "
        "See `reenvio claim show CLM-1-1`."
    )
