"""The same call on other inputs, to which a result that was computed must answer otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np

from ascend_opcli.model import Bound, Call, Case, Tensor
from ascend_opcli.operators.call import make_call
from ascend_opcli.operators.signature import Signature
from ascend_opcli.tensors.dtypes import DTYPES
from ascend_opcli.tensors.hashing import inputs_sha256
from ascend_opcli.tensors.layout import place, view


def other_inputs(case: Case, call: Call, signature: Signature) -> Call | None:
    """The call with other data of the same kind: of the next seed, or the same real numbers in reverse order.

    Integers that are not drawn stay as they are: indices, offsets and lengths depend on each other. None where
    nothing can be changed.
    """
    other = make_call(dataclasses.replace(case, seed=case.seed + 1), signature, call.product)
    arguments = {name: _other(call.arguments[name], bound) for name, bound in other.arguments.items()}
    digest = inputs_sha256(arguments)
    if digest == call.inputs_sha256:
        return None
    return dataclasses.replace(other, arguments=arguments, inputs_sha256=digest)


def _other(own: Bound, drawn: Bound) -> Bound:
    if isinstance(own, tuple) and isinstance(drawn, tuple):
        return tuple(_tensor(a, b) for a, b in zip(own, drawn, strict=True))
    if isinstance(own, Tensor) and isinstance(drawn, Tensor):
        return _tensor(own, drawn)
    return drawn


def _tensor(own: Tensor, drawn: Tensor) -> Tensor:
    if DTYPES[own.spec.dtype].kind not in ("float", "complex"):
        return drawn
    if not np.array_equal(own.storage.view(np.uint8), drawn.storage.view(np.uint8)):
        return drawn
    return place(np.ascontiguousarray(view(own)).reshape(-1)[::-1].copy(), own.spec)
