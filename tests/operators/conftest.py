"""One hypothesis profile for this folder: the same examples on every machine, no deadline.

In a run of several folders it holds for those that pytest imports later too.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "operators",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("operators")
