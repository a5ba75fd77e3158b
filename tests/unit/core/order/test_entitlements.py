from muster.core.order.entitlements import Entitlements
from muster.model.ids import JobId, TeamPath
from muster.model.team import Team

A, B, C = JobId("a"), JobId("b"), JobId("c")


def team(path: str, weight: int = 1000) -> Team:
    return Team(path=TeamPath(path), weight=weight)


def of(*teams: Team) -> Entitlements:
    return Entitlements(teams, 8_000)


def test_a_job_that_is_alone_is_due_everything() -> None:
    due = of(team("nlp"))
    due.join(A, TeamPath("nlp"), 0)
    assert due.share_milli(A, 0) == due.share_milli(A, 1_000) == 8_000


def test_teams_divide_by_weight_and_jobs_of_a_team_equally() -> None:
    due = of(team("nlp", 3000), team("cv", 1000))
    due.join(A, TeamPath("nlp"), 0)
    due.join(B, TeamPath("nlp"), 0)
    due.join(C, TeamPath("cv"), 0)
    assert [due.share_milli(job, 5_000) for job in (A, B, C)] == [3_000, 3_000, 2_000]


def test_teams_without_jobs_leave_their_part_to_the_others() -> None:
    due = of(team("nlp", 3000), team("cv", 1000))
    due.join(A, TeamPath("cv"), 0)
    due.join(B, TeamPath("nlp"), 0)
    due.leave(B, 1_000)
    assert due.share_milli(A, 1_000) == 2_000
    assert due.share_milli(A, 2_000) == (2_000 + 8_000) // 2
    assert due.share_milli(B, 2_000) is None


def test_sub_teams_divide_the_part_of_their_team_and_its_own_jobs_are_one_more() -> None:
    due = of(team("nlp", 1000), team("nlp/eval", 3000), team("cv", 1000))
    due.join(A, TeamPath("nlp/eval"), 0)
    due.join(B, TeamPath("nlp"), 0)
    due.join(C, TeamPath("cv"), 0)
    assert [due.share_milli(job, 1_000) for job in (A, B, C)] == [3_000, 1_000, 4_000]


def test_what_counts_is_the_average_of_the_whole_life() -> None:
    due = of(team("nlp"))
    due.join(A, TeamPath("nlp"), 0)
    due.join(B, TeamPath("nlp"), 3_000)
    assert due.share_milli(A, 4_000) == (3 * 8_000 + 4_000) // 4
    assert due.share_milli(B, 4_000) == 4_000


def test_asking_changes_nothing() -> None:
    due = of(team("nlp", 7), team("cv", 3))
    due.join(A, TeamPath("nlp"), 0)
    due.join(B, TeamPath("cv"), 1)
    before = due.record()
    assert [due.share_milli(A, now_ms) for now_ms in range(2, 1_000)]
    assert due.record() == before


def test_another_size_counts_from_then_on() -> None:
    due = of(team("nlp"))
    due.join(A, TeamPath("nlp"), 0)
    due.resize(16_000, 1_000)
    assert due.share_milli(A, 2_000) == 12_000


def test_other_weights_count_from_then_on_and_what_was_before_is_forgotten() -> None:
    due = of()
    due.join(A, TeamPath("nlp"), 0)
    due.join(B, TeamPath("cv"), 0)
    due.change_teams((team("nlp", 3000), team("cv", 1000)), 1_000)
    assert [due.share_milli(job, 9_000) for job in (A, B)] == [6_000, 2_000]


def test_a_job_that_was_never_there_may_leave() -> None:
    due = of(team("nlp"))
    due.leave(A, 5)
    due.join(A, TeamPath("nlp"), 6)
    assert due.share_milli(A, 7) == 8_000


def test_a_gang_larger_than_its_share_may_take_longer_by_as_much() -> None:
    due = of(team("nlp"), team("cv"))
    due.join(A, TeamPath("nlp"), 0)
    due.join(B, TeamPath("cv"), 0)
    assert due.fair_ms(A, 8_000, 100, 500) == 200
    assert due.fair_ms(A, 4_000, 100, 500) == due.fair_ms(A, 1_000, 100, 500) == 100
    assert due.fair_ms(C, 1_000, 100, 500) is None


def test_where_no_team_was_declared_it_is_not_known_what_is_fair() -> None:
    for teams, is_known in (((), False), ((team("nlp"),), True)):
        due = of(*teams)
        due.join(A, TeamPath("nlp"), 0)
        assert (due.fair_ms(A, 16_000, 100, 500) is not None) is is_known


def test_a_copy_knows_the_same_and_goes_its_own_way() -> None:
    due = of(team("nlp", 3000), team("nlp/eval", 2000), team("cv", 1000))
    due.join(A, TeamPath("nlp/eval"), 0)
    due.join(B, TeamPath("cv"), 500)
    copied = due.copy()
    assert [copied.share_milli(job, 2_000) for job in (A, B)] == [due.share_milli(job, 2_000) for job in (A, B)]
    before = due.record()
    copied.join(C, TeamPath("nlp"), 1_000)
    copied.leave(B, 1_500)
    copied.resize(16_000, 1_500)
    assert due.record() == before
    assert (copied.knows(B), due.knows(B), copied.knows(C), due.knows(C)) == (False, True, True, False)
    due.join(C, TeamPath("nlp"), 1_000)
    due.leave(B, 1_500)
    due.resize(16_000, 1_500)
    assert [copied.share_milli(job, 9_000) for job in (A, C)] == [due.share_milli(job, 9_000) for job in (A, C)]
