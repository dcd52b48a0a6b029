"""The NumPy dtype behind each element type's name."""

import importlib.util
from typing import Any

import numpy as np

from dpbench.devices.inventory import Obstacle


def missing_for(dtype: str) -> Obstacle | None:
    """Return what the element type needs and this process has not."""
    if dtype != "bfloat16" or importlib.util.find_spec("ml_dtypes"):
        return None
    return Obstacle("bfloat16 needs the package ml_dtypes", "pip install 'dpbench[bfloat16]'")


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of the element type `name`; bfloat16 is not NumPy's own, but of ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16
