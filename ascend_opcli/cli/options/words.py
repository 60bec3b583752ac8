"""The words that an option takes."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class Backend(str, Enum):
    """What executes the calls."""

    AUTO = "auto"
    HOST = "host"
    DEVICE = "device"


class Via(str, Enum):
    """How a device calls an operator."""

    ACLNN = "aclnn"
    IR = "ir"


class Tensors(str, Enum):
    """What a Python candidate is handed."""

    NUMPY = "numpy"
    TORCH = "torch"
    NPU = "npu"


class FileFormat(str, Enum):
    """How tensors are written for another program."""

    NPY = "npy"
    BIN = "bin"


class Language(str, Enum):
    """The language of a report that is written for people to hand in."""

    EN = "en"
    ZH = "zh"


class Product(str, Enum):
    """Whose contract the host applies."""

    ASCEND950 = "ascend950"
    ATLAS_A3 = "atlas_a3"
    ATLAS_A2 = "atlas_a2"
    ATLAS_200I_500_A2 = "atlas_200i_500_a2"
    ATLAS_INFERENCE = "atlas_inference"
    ATLAS_TRAINING = "atlas_training"


Signatures = Annotated[
    list[str] | None,
    typer.Option(
        "--signature",
        metavar="TEXT|FILE",
        help="The C prototype, or a header, of an operator that the catalog does not have.",
    ),
]
