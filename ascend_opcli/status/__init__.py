"""Return codes: their names, what they mean and what usually fixes them."""

from ascend_opcli.status.codes import (
    SUCCESS,
    ReturnCode,
    UnknownCode,
    all_codes,
    describe,
    is_surroundings,
    lookup,
    name_of,
)

__all__ = [
    "SUCCESS",
    "ReturnCode",
    "UnknownCode",
    "all_codes",
    "describe",
    "is_surroundings",
    "lookup",
    "name_of",
]
