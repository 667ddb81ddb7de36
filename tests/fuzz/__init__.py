"""Random testing of weft: ``python -m tests.fuzz --cases 100000``, or ``make fuzz``.

A case is a kind and a seed, and depends on nothing else: ``--kind programs --seed 12345`` repeats
one. The modules of this package draw the cases of one kind each.
"""

import sys
from pathlib import Path

# The modules that the tests share are imported by their bare names, as they are under pytest.
_TESTS = str(Path(__file__).parents[1])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)
