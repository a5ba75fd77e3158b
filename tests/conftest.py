"""How hard hypothesis tries: `default` is the same in every run, `thorough` is for a long evening.

`pytest --hypothesis-profile=thorough tests/property`
"""

from hypothesis import HealthCheck, settings

SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=100, database=None, suppress_health_check=SLOW_DATA
)
settings.register_profile("thorough", deadline=None, max_examples=2_000, suppress_health_check=SLOW_DATA)
settings.load_profile("default")
