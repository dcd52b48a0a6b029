"""The element types: names as users write them, size, and the integers each holds exactly."""

from typing import NamedTuple


class DType(NamedTuple):
    """An element type."""

    name: str
    itemsize: int
    exact: int  #: every integer from 0 to it is exact; sums of the synthetic gradients stay below
    least: float | None = None  #: the smallest positive number of full precision; None: an integer type
    most: float | None = None  #: the largest finite number


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("float32", 4, 2**24, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
        DType("float16", 2, 2**11, 2.0**-14, 65504.0),
        DType("bfloat16", 2, 2**8, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
        DType("float64", 8, 2**53, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
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
