"""How good a node is for a worker: what would be left, and which jobs that would serve."""

from muster.core.cluster.free_states import Ask, FreeState, FreeStates, Hardware, ReferenceShape, remains
from muster.model.ids import GpuType, PoolName

H100 = GpuType("h100")
MAIN = PoolName("main")
PLENTY = 1 << 40


def an_ask(milli: int) -> Ask:
    return Ask(milli, H100, 0, 0, 0, (MAIN,))


def a_state(whole: int, *partial: int, hardware: int = 0, tenants: int = 1) -> FreeState:
    return FreeState(hardware, whole, tuple(sorted(partial)), PLENTY, PLENTY, PLENTY, tenants)


def states(*marks: ReferenceShape, **fields: bool) -> FreeStates:
    made = FreeStates()
    made.number_of_hardware(
        Hardware(
            gpu_type=H100,
            pool=MAIN,
            usable=fields.get("usable", True),
            suspect=fields.get("suspect", False),
            reserved=fields.get("reserved", False),
            price_milli=1000,
            gpus=8,
        )
    )
    made.measure_by(marks)
    return made


def test_shares_fill_the_fullest_gpu_before_a_new_one_is_opened() -> None:
    assert remains(a_state(2, 500, 300), an_ask(300), 1) == a_state(2, 500)
    assert remains(a_state(2, 500), an_ask(600), 1) == a_state(1, 400, 500)
    assert remains(a_state(2), an_ask(250), 5) == a_state(0, 750)


def test_whole_gpus_are_not_cut_from_shared_ones() -> None:
    assert remains(a_state(3, 900), an_ask(2000), 1) == a_state(1, 900)


def test_equal_states_have_one_number() -> None:
    made = states()
    assert made.number(a_state(3, 500)) == made.number(a_state(3, 500)) != made.number(a_state(3))


def test_the_state_that_is_filled_to_the_brim_comes_first() -> None:
    made = states(ReferenceShape(8000, None, 0, 0, 2), ReferenceShape(2000, None, 0, 0, 2))
    numbers = {whole: made.number(a_state(whole)) for whole in (8, 4, 2)}
    order = [number for *_, number in made.ranked(an_ask(2000), 1)]
    assert order == [numbers[2], numbers[4], numbers[8]]


def test_a_measure_by_which_nothing_is_harmed_leaves_the_tightest_fit() -> None:
    made = states()
    numbers = {whole: made.number(a_state(whole)) for whole in (8, 3)}
    assert made.ranked(an_ask(1000), 1)[0][2] == numbers[3]


def test_a_new_measure_changes_the_order() -> None:
    """A node with six free GPUs serves three pairs, or one six; taking a pair from it spoils the six."""
    made = states(ReferenceShape(1000, None, 0, 0, 1))
    six, three = made.number(a_state(6)), made.number(a_state(3))
    assert made.ranked(an_ask(2000), 1)[0][2] == three
    made.measure_by([ReferenceShape(3000, None, 0, 0, 50)])
    assert made.ranked(an_ask(2000), 1)[0][2] == six


def test_nodes_that_take_no_work_or_are_of_another_type_fit_nothing() -> None:
    unusable = states(usable=False)
    unusable.number(a_state(8))
    assert unusable.slots(an_ask(1000)) == [0]
    other = states()
    other.number(a_state(8))
    assert other.slots(an_ask(1000)._replace(gpu_type=GpuType("a100"))) == [0]


def test_a_careful_ask_does_not_take_suspects() -> None:
    made = states(suspect=True)
    made.number(a_state(8))
    assert made.has_suspects
    assert made.slots(an_ask(1000)) == [8]
    assert made.slots(an_ask(1000)._replace(takes_suspects=False)) == [0]


def test_an_ask_for_empty_nodes_does_not_take_one_that_others_use() -> None:
    made = states()
    made.number(a_state(8))
    made.number(a_state(7))
    assert made.slots(an_ask(1000)) == [8, 7]
    assert made.slots(an_ask(1000)._replace(takes_shared=False)) == [8, 0]
