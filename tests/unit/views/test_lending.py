from muster.model.ids import GpuType, TeamPath
from muster.model.team import ANY_TYPE, Team
from muster.views.lending import apportioned, lent

H100 = GpuType("h100")
Gpus = dict[GpuType, int]


def found(guaranteed: dict[str, Gpus], used: dict[str, Gpus], free: Gpus) -> dict[str, Gpus]:
    """What teams lend, with all amounts in whole GPUs."""

    def milli(gpus: Gpus) -> Gpus:
        return {gpu_type: 1000 * count for gpu_type, count in gpus.items()}

    teams = {
        TeamPath(path): Team(path=TeamPath(path), guaranteed=tuple(milli(gpus).items()))
        for path, gpus in guaranteed.items()
    }
    amounts = lent(teams, {TeamPath(path): milli(gpus) for path, gpus in used.items()}, milli(free))
    return {path: {gpu_type: each // 1000 for gpu_type, each in gpus.items()} for path, gpus in amounts.items()}


def test_nothing_is_lent_while_enough_is_free() -> None:
    guaranteed = {"a": {H100: 8}, "b": {}}
    assert found(guaranteed, {"b": {H100: 4, ANY_TYPE: 4}}, {H100: 8}) == {"a": {}, "b": {}}


def test_what_is_not_free_of_an_unused_guarantee_is_lent() -> None:
    guaranteed = {"a": {H100: 8}, "b": {}}
    assert found(guaranteed, {"b": {H100: 14, ANY_TYPE: 14}}, {H100: 2}) == {"a": {H100: 6}, "b": {}}


def test_gpus_that_are_out_of_service_are_not_lent() -> None:
    guaranteed = {"a": {H100: 8}, "b": {}}
    assert found(guaranteed, {"b": {H100: 3, ANY_TYPE: 3}}, {H100: 0}) == {"a": {H100: 3}, "b": {}}


def test_a_team_below_another_lends_to_its_siblings_and_to_others() -> None:
    guaranteed = {"a": {H100: 8}, "a/x": {H100: 6}, "a/y": {}, "b": {}}
    used = {"a": {H100: 3}, "a/y": {H100: 3, ANY_TYPE: 3}, "b": {H100: 5, ANY_TYPE: 5}}
    assert found(guaranteed, used, {H100: 0}) == {"a": {H100: 5}, "a/x": {H100: 6}, "a/y": {}, "b": {}}


def test_jobs_of_a_team_itself_use_what_is_guaranteed_to_the_teams_below_it() -> None:
    guaranteed = {"a": {H100: 8}, "a/x": {H100: 8}}
    assert found(guaranteed, {"a": {H100: 8}}, {H100: 0}) == {"a": {}, "a/x": {H100: 8}}


def test_a_guarantee_of_any_type_is_exceeded_with_gpus_of_each_type() -> None:
    guaranteed = {"a": {H100: 8}, "b": {ANY_TYPE: 2}}
    assert found(guaranteed, {"b": {H100: 6, ANY_TYPE: 6}}, {H100: 4, ANY_TYPE: 4}) == {"a": {H100: 4}, "b": {}}


def test_whole_gpus_are_not_divided_and_the_first_of_equals_lends_more() -> None:
    assert apportioned(4000, [8000, 8000, 8000]) == [2000, 1000, 1000]
    assert apportioned(500, [8000, 8000]) == [500, 0]
    assert apportioned(0, [8000]) == [0]
