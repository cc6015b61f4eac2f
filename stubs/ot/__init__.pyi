"""What confide and its tests use of POT, which ships no types."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# ruff: noqa: N803

def emd2(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    M: NDArray[np.float64],
    *,
    numItermax: int = ...,
    log: Literal[True],
) -> tuple[float, dict[str, Any]]: ...
