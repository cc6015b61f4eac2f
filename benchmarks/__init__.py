"""What is measured, and against which bar. Run one from the top of the repository: python -m benchmarks.channels."""

import os

# One thread, for times that can be compared. This must stand before numpy is first imported, and a package's own file
# is run before any module in it.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"
