"""What must hold of the outputs of one call, where its operator leaves a choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.model import Call, TensorSpec
from ascend_opcli.operators.declare.choices import Held
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.evaluate import arguments_of
from ascend_opcli.reference.notes import pick
from ascend_opcli.tensors.dtypes import numpy_dtype


def held(
    operator: Operator, call: Call, got: Mapping[str, Any], golden: Mapping[str, Any]
) -> tuple[Held, ...]:
    """What must hold of the outputs ``got`` of a call; nothing where the operator leaves no choice.

    Nothing either where an output has not the shape and dtype of the call's: that is wrong by itself.
    """
    if operator.holds is None or not _fit(call, got):
        return ()
    told = {**arguments_of(operator, call), "got": got, "golden": golden}
    with np.errstate(all="ignore"):
        return tuple(pick(operator.holds, told))


def _fit(call: Call, got: Mapping[str, Any]) -> bool:
    specs = {n: s for n, s in call.outputs.items() if isinstance(s, TensorSpec)}
    return all(
        isinstance(got.get(name), np.ndarray)
        and got[name].shape == spec.shape
        and got[name].dtype.newbyteorder("=") == numpy_dtype(spec.dtype)
        for name, spec in specs.items()
    )
