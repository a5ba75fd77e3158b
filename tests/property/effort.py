"""How many examples a property gets: its share of what the hypothesis profile allows."""

from hypothesis import settings


def examples(percent: int) -> settings:
    """Settings with this many percent of the profile's examples."""
    profile = settings.default
    assert profile is not None
    return settings(max_examples=max(1, profile.max_examples * percent // 100))
