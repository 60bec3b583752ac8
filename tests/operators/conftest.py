"""One hypothesis profile for this folder: the same examples on every machine, no deadline."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "operators",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("operators")
