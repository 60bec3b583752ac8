"""The format that a tensor has where nobody names one: the documented formats and the rank say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ascend_opcli.model import Shape, TensorSpec

ND = "ND"

RANK_OF_FORMAT = {
    **{"NC": 2, "NCL": 3, "NLC": 3},
    **{"NCHW": 4, "NHWC": 4, "HWCN": 4, "CHWN": 4},
    **{"NCDHW": 5, "NDHWC": 5, "DHWCN": 5},
}
"""The formats that name their axes; ND fits every rank."""

_USUAL = {3: "NCL", 4: "NCHW", 5: "NCDHW"}
"""The format that torch_npu gives a tensor of this rank."""


def usual(listed: Sequence[str], rank: int) -> str:
    """The format of a tensor of this rank, of an operator that takes the ``listed`` ones.

    ND where it is listed or nothing is. Else the one that is usual for the rank, unless only another is listed
    for it. A private format needs storage that a short case does not give: ND, which the operator refuses.
    """
    named = [f for f in listed if f in RANK_OF_FORMAT]
    if ND in listed or not named:
        return ND
    own = _USUAL.get(rank, ND)
    of_rank = [f for f in named if RANK_OF_FORMAT[f] == rank]
    return of_rank[0] if of_rank and own not in of_rank else own


def following(listed: Sequence[str], shape: Shape, inputs: Iterable[TensorSpec]) -> str:
    """The format of an output: that of the first input of its rank that names its axes, where the output takes it.

    An output of which the documents list ND alone takes it only where it has that input's shape too.
    """
    for spec in inputs:
        if RANK_OF_FORMAT.get(spec.format) == len(shape) == len(spec.shape):
            alone = tuple(listed) == (ND,) and spec.shape == shape
            if not listed or alone or spec.format in listed:
                return spec.format
    return usual(listed, len(shape))
