"""Type aliases that all packages use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Bools", "Floats", "Ids", "Ints", "Progress", "Singles", "Sparse"]

Floats: TypeAlias = npt.NDArray[np.float64]
Singles: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Sparse: TypeAlias = "csr_array[Any, tuple[int, int]]"
Ids: TypeAlias = npt.NDArray[Any]
"""User or item ids: int64, or object holding str."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of steps that are done, and the number of all steps."""
