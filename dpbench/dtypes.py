"""The element types: names as users write them, size, and the integers each holds exactly."""

from typing import NamedTuple


class DType(NamedTuple):
    """An element type. `exact`: every integer from 0 to it is exact; sums of the synthetic gradients stay below."""

    name: str
    itemsize: int
    exact: int


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("float32", 4, 2**24),
        DType("float16", 2, 2**11),
        DType("bfloat16", 2, 2**8),
        DType("float64", 8, 2**53),
        DType("int32", 4, 2**31 - 1),
        DType("int64", 8, 2**63 - 1),
        DType("uint8", 1, 2**8 - 2),  # 255 is the poison pattern
    )
}

ALIASES = {
    "float": "float32",
    "fp32": "float32",
    "half": "float16",
    "fp16": "float16",
    "double": "float64",
    "fp64": "float64",
    "bf16": "bfloat16",
}
