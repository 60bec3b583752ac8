"""Return codes: their names, what they mean and what usually fixes them."""

from ascend_opcli.status.codes import (
    SUCCESS,
    SURROUNDINGS,
    ReturnCode,
    UnknownCode,
    all_codes,
    describe,
    lookup,
    name_of,
)

__all__ = [
    "SUCCESS",
    "SURROUNDINGS",
    "ReturnCode",
    "UnknownCode",
    "all_codes",
    "describe",
    "lookup",
    "name_of",
]
