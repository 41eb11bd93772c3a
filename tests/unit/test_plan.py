import pytest

from wikimem_daemon.plan import (
    DECISIONS,
    GRACE_MISSING_S,
    GRACE_SHORTENED_S,
    GRACE_SHRUNK_S,
    Loss,
    Sight,
    Step,
    decide,
    grace,
    is_mass_loss,
    is_typing,
)


def test_every_sight_has_a_step_for_known_and_for_new_files() -> None:
    assert set(DECISIONS) == {(sight, known) for sight in Sight for known in (True, False)}


@pytest.mark.parametrize(
    ("sight", "step"),
    [
        (Sight.UNCHANGED, Step.NOTHING),
        (Sight.SAME_BYTES, Step.RESTAMP),
        (Sight.NEW_TEXT, Step.SERVE),
        (Sight.EMPTIED, Step.WAIT),
        (Sight.WRITING, Step.WAIT),
        (Sight.MARKERS, Step.HOLD),
        (Sight.TOO_LARGE, Step.DROP),
        (Sight.UNREADABLE, Step.HOLD),
        (Sight.ELSEWHERE, Step.DROP),
        (Sight.NOT_OURS, Step.DROP),
        (Sight.MISSING, Step.DROP),
        (Sight.PLACE_GONE, Step.HOLD),
    ],
)
def test_what_is_done_with_a_known_file(sight: Sight, step: Step) -> None:
    assert decide(sight, known=True) == step


def test_nothing_that_is_withheld_from_us_is_taken_for_deleted() -> None:
    withheld = {Sight.UNREADABLE, Sight.MARKERS, Sight.PLACE_GONE, Sight.WRITING, Sight.EMPTIED}
    assert not {sight for sight in withheld if decide(sight, known=True) == Step.DROP}


def test_a_new_file_that_cannot_be_read_is_reported_because_answers_lack_it() -> None:
    assert decide(Sight.UNREADABLE, known=False) == decide(Sight.MARKERS, known=False) == Step.REPORT


def test_a_file_that_lost_most_of_its_items_waits_longest() -> None:
    assert grace(Loss(lost=3, of=4, whole=False)) == GRACE_SHRUNK_S
    assert grace(Loss(lost=2, of=4, whole=False)) == GRACE_SHORTENED_S
    assert grace(Loss(lost=3, of=3, whole=False)) == GRACE_SHORTENED_S
    assert grace(Loss(lost=9, of=9, whole=True)) == GRACE_MISSING_S


def test_most_of_the_vault_at_once_is_a_mass_loss() -> None:
    assert is_mass_loss(20, 39)
    assert not is_mass_loss(20, 40)
    assert not is_mass_loss(19, 19)


@pytest.mark.parametrize(
    ("age", "before", "after", "typing"),
    [
        (2.0, "we went to the bea", "we went to the beach and", True),
        (2.0, "", "anything", True),
        (2.0, "head tail", "head and a tail", True),
        (2.0, "a long text that somebody wrote", "gone", False),
        (31.0, "we went to the bea", "we went to the beach and", False),
        (2.0, "abcdefghij", "abcdefg", False),
        (2.0, "abcdefghij", "abcdefgh", True),
        (2.0, "abcde" * 1000, "abcde" * 900 + "x" * 500, True),
        (2.0, "abcde" * 1000, "abcde" * 700 + "x" * 500, False),
        (2.0, "abc", "xbc", False),
    ],
)
def test_a_moment_of_typing_is_no_version(age: float, before: str, after: str, *, typing: bool) -> None:
    assert is_typing(age, before, after) is typing
