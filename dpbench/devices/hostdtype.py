"""The NumPy dtype behind each element type's name."""

from typing import Any

import numpy as np

from dpbench.errors import PlatformError


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of the element type `name`; bfloat16 is not NumPy's own and needs ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise PlatformError("dtype bfloat16 needs the package ml_dtypes: pip install ml_dtypes") from error
    bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16
