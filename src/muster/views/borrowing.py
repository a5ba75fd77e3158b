"""What a team uses above its guarantee."""

from collections.abc import Mapping

from muster.model.ids import GpuType
from muster.model.team import ANY_TYPE, Team


def borrowed(team: Team, used: Mapping[GpuType, int]) -> dict[GpuType, int]:
    """Usage above the guarantee, for the types that the guarantee names; all usage when it names none."""
    guaranteed = dict(team.guaranteed)
    covered = {
        gpu_type: milli for gpu_type, milli in used.items() if gpu_type in guaranteed or ANY_TYPE not in guaranteed
    }
    above = {gpu_type: milli - guaranteed.get(gpu_type, 0) for gpu_type, milli in covered.items()}
    if ANY_TYPE not in guaranteed and guaranteed:
        above[ANY_TYPE] = sum(max(milli, 0) for gpu_type, milli in above.items() if gpu_type != ANY_TYPE)
    return {gpu_type: milli for gpu_type, milli in above.items() if milli > 0}
