"""How hypothesis runs here: the same examples every time, and no clock, for speed is never asserted in a test.

`WIKIMEM_PROPERTIES=search` looks for new examples instead, many of them; do that after a change to what is tested.
"""

import os

from hypothesis import HealthCheck, settings

NO_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", NO_CLOCK, max_examples=150, derandomize=True)
settings.register_profile("search", NO_CLOCK, max_examples=3_000)
settings.load_profile(os.environ.get("WIKIMEM_PROPERTIES", "steady"))
