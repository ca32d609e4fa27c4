"""One thread of linear algebra in each worker: the suite fills every core already, and threads that wait do so by spinning.

It has to be said before NumPy is imported; what the environment says goes first.
"""

import os

for library in ("OPENBLAS", "MKL", "BLIS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
