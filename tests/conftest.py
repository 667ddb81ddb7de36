"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# What was tuned on this machine must not choose what is tested.
os.environ.setdefault("WEFT_TUNINGS", "off")

# Compiling takes seconds, so no example is judged by the clock.
settings.register_profile(
    "weft", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("weft"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "weft")
