"""Losses whose target names classes: negative log likelihood, cross entropy and the multilabel margin.

Classes are axis 1, or the only axis of one sample. Formulas are those of the documents and of PyTorch's
nll_loss, cross_entropy and multilabel_margin_loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_opcli.model import Derived, Generator, Shape
from ascend_opcli.operators.declare import Undefined, declare, uniform
from ascend_opcli.operators.families.fills import cast
from ascend_opcli.operators.families.losses.by_element import MEAN
from ascend_opcli.operators.families.losses.margins import REDUCTIONS, by_word
from ascend_opcli.operators.families.softmax import log_softmax

_NONE, _SUM = REDUCTIONS["none"], REDUCTIONS["sum"]
_CLASSES = Generator("integers", (0, 1))
"""Default targets: any number of classes from two has them."""


_LABELS = Derived(
    "-1 if isnull(self) else where(cumsum(ones_like(self), axis=-1) <= 2, argsort(self, axis=-1), -1)"
)
"""Default labels: those of the two smallest elements of every row, then -1."""


def _classes(self: Any) -> int:
    return 0 if self.ndim == 1 else 1


def _counted(self: Any, target: Any, ignored: Any) -> tuple[Any, Any]:
    """The class of every sample, 0 for those that do not count, and which do."""
    axis = _classes(self)
    if target.size != self.size // max(self.shape[axis], 1):
        raise Undefined(f"{target.size} targets for an input of shape {list(self.shape)}")
    labels = target.astype(np.int64).reshape([d for i, d in enumerate(self.shape) if i != axis])
    counts = np.ones(labels.shape, bool) if ignored is None else labels != int(ignored)
    if np.any(counts & ((labels < 0) | (labels >= self.shape[axis]))):
        raise Undefined("a target names no class")
    return np.where(counts, labels, 0), counts


def _at(self: Any, labels: Any) -> Any:
    """The element of every sample's class."""
    axis = _classes(self)
    return np.take_along_axis(self, np.expand_dims(labels, axis), axis).squeeze(axis)


def _weights(self: Any, weight: Any, labels: Any, counts: Any) -> Any:
    """The weight of every sample: that of its class, 0 where it does not count."""
    if weight is not None and weight.shape != (self.shape[_classes(self)],):
        raise Undefined(f"{weight.size} weights for {self.shape[_classes(self)]} classes")
    each = self.dtype.type(1) if weight is None else weight.reshape(-1)[labels]
    return np.where(counts, each, 0).astype(self.dtype)


def _all_told(values: Any, total: Any, reduction: Any) -> Any:
    """By sample, in one number, or divided by all the weight that counts."""
    if reduction == _NONE:
        return values
    made = values.sum(dtype=values.dtype)
    if reduction == _SUM:
        return made
    if reduction != MEAN:
        raise Undefined(f"reduction {reduction}")
    if total == 0:
        raise Undefined("the mean over no weight")
    return made / total


def _likelihood(
    self: Any, target: Any, weight: Any, reduction: Any = 1, ignored: Any = -100
) -> tuple[Any, Any]:
    labels, counts = _counted(self, target, ignored)
    each = _weights(self, weight, labels, counts)
    # A sample that does not count may hold anything.
    values = np.where(counts, -each * _at(self, labels), 0).astype(self.dtype)
    total = each.sum(dtype=each.dtype)
    return _all_told(values, total, reduction), None if reduction == _NONE else total


def _likelihood_slope(
    grad: Any, self: Any, target: Any, weight: Any, reduction: Any, ignored: Any, total: Any
) -> Any:
    labels, counts = _counted(self, target, ignored)
    if grad.size not in (1, labels.size) or (reduction != _NONE and grad.size != 1):
        raise Undefined(f"{grad.size} slopes for {labels.size} samples")
    each = -_weights(self, weight, labels, counts)
    each = each * (grad.reshape(()) if grad.size == 1 else grad.reshape(labels.shape))
    if reduction == MEAN:
        if total.reshape(-1)[0] == 0:
            raise Undefined("the mean over no weight")
        each = each / total.reshape(-1)[0]
    return _placed(self, labels, np.where(counts, each, 0))


def _placed(self: Any, labels: Any, values: Any) -> Any:
    """0, and the value of every sample at its class."""
    made, axis = np.zeros(self.shape, self.dtype), _classes(self)
    np.put_along_axis(
        made, np.expand_dims(labels, axis), np.expand_dims(values, axis).astype(self.dtype), axis
    )
    return made


def _ignored(index: Any) -> Any:
    """Cross entropy leaves nothing out for an index below 0; None then."""
    return None if index < 0 else index


def _cross_entropy(
    input: Any, target: Any, weight: Any, word: Any = "mean", ignored: Any = -100, smoothing: Any = 0.0,
    _scale: Any = 0.0, _return: Any = False,
) -> tuple[Any, Any, None, None]:  # fmt: skip
    """With smoothing a part of the loss is shared by all classes; the logarithms go to the backward operator.

    What the documents call zloss is not supported yet, and its outputs have no defined values.
    """
    labels, counts = _counted(input, target, _ignored(ignored))
    log, each = log_softmax(input, 1), _weights(input, weight, labels, counts)
    values = -each * _at(log, labels)
    if smoothing:
        shared = -(log if weight is None else log * weight).sum(axis=1, dtype=log.dtype)
        part = log.dtype.type(smoothing)
        values = (1 - part) * values + part / log.shape[1] * shared
    values = np.where(counts, values, 0).astype(log.dtype)
    return _all_told(values, each.sum(dtype=each.dtype), by_word(word)), log, None, None


def _cross_entropy_slope(
    grad: Any, log: Any, target: Any, weight: Any, _zloss: Any, _lse: Any, word: Any = "mean",
    ignored: Any = -100, smoothing: Any = 0.0, _scale: Any = 0.0,
) -> Any:  # fmt: skip
    if smoothing:
        raise Undefined("labelSmoothing, which the documents do not support yet")
    reduction = by_word(word)
    labels, counts = _counted(log, target, _ignored(ignored))
    each = _weights(log, weight, labels, counts)
    if reduction == MEAN:
        total = each.sum(dtype=each.dtype)
        if total == 0:
            raise Undefined("the mean over no weight")
        each = each / total
    if grad.size not in (1, labels.size) or (reduction != _NONE and grad.size != 1):
        raise Undefined(f"{grad.size} slopes for {labels.size} samples")
    each = each * grad.reshape(-1)
    return np.exp(log) * each[:, None] - _placed(log, labels, each)


PAIRS = 1 << 18
"""Pairs of a label and another class that are worked through at once: half of many classes may be labels."""


def _margins(labels: Any, others: Any) -> Any:
    """The sum of max(0, 1 - label + other) over every pair; one with NaN adds nothing, as in PyTorch."""
    total = labels.dtype.type(0)
    step = max(PAIRS // max(others.size, 1), 1)
    for start in range(0, labels.size, step):
        margins = 1 - labels[start : start + step, None] + others[None, :]
        total += np.where(margins > 0, margins, 0).sum(dtype=labels.dtype)
    return total


def _multilabel(self: Any, target: Any, reduction: Any = 1, *, dtypes: Any) -> tuple[Any, Any]:
    """Of every sample, the labels before the first -1 each against every class that is none of them."""
    if not self.ndim or not self.shape[-1]:
        raise Undefined("a sample without classes")
    rows, marks = self.reshape(-1, self.shape[-1]), target.reshape(-1, self.shape[-1]).astype(np.int64)
    count = rows.shape[1]
    used = np.cumprod(marks != -1, axis=1).astype(bool)
    if np.any(used & ((marks < 0) | (marks >= count))):
        raise Undefined("a target names no class")
    among = np.zeros((len(rows), count + 1), np.int64)
    np.add.at(among, (np.arange(len(rows))[:, None], np.where(used, marks, count)), 1)
    among = among[:, :count]
    if np.any(among > 1):
        raise Undefined("a label is repeated: whether it counts twice is not defined")
    losses = np.zeros(len(rows), self.dtype)
    for i, (row, own) in enumerate(zip(rows, among > 0, strict=True)):
        losses[i] = _margins(row[own], row[~own]) / self.dtype.type(count)
    made = losses if self.ndim > 1 else losses[0]
    if reduction in (MEAN, _SUM):
        made = losses.sum(dtype=losses.dtype) / (max(len(losses), 1) if reduction == MEAN else 1)
    elif reduction != _NONE:
        raise Undefined(f"reduction {reduction}")
    return made, cast(among.reshape(target.shape), dtypes["isTarget"] or "float32")


# --- declarations ---------------------------------------------------------------------------------------------


def _samples(self: Any, reduction: Any) -> Shape:
    """The documents give a reduced loss one axis of one element."""
    return (self.shape[0], *self.shape[2:]) if int(reduction) == _NONE and len(self.shape) > 1 else (1,)


def _likelihood_made(self: Any, _target: Any, _weight: Any, reduction: Any, _ignored: Any) -> Any:
    return [(self.dtype, _samples(self, reduction)), (self.dtype, (1,))]


def _entropy_made(input: Any, _target: Any, _weight: Any, word: Any, *_rest: Any) -> Any:
    shape = _samples(input, by_word(word))
    samples = (input.dtype, input.shape[:1])
    return [(input.dtype, shape), (input.dtype, input.shape), (input.dtype, shape), samples]


def _multilabel_made(self: Any, target: Any, reduction: Any) -> Any:
    shape = self.shape[:1] if int(reduction) == _NONE and len(self.shape) == 2 else ()
    return [(self.dtype, shape), (self.dtype, target.shape)]


def _targets(*ranks: int) -> Callable[[str, Shape], tuple[str, Shape]]:
    def rule(_dtype: str, shape: Shape) -> tuple[str, Shape]:
        if len(shape) not in ranks:
            raise ValueError(f"the input has rank {' or '.join(map(str, ranks))}, not {len(shape)}")
        return "int64", (shape[0], *shape[2:]) if len(shape) > 1 else ()

    return rule


def _of_class(dtype: str, shape: Shape) -> tuple[str, Shape]:
    return dtype, (shape[0 if len(shape) == 1 else 1],)


def _one(dtype: str, _shape: Shape) -> tuple[str, Shape]:
    return dtype, (1,)


def _of_nll(*ranks: int) -> dict[str, Any]:
    return {
        "short": {"target": _targets(*ranks), "weight": _of_class},
        "data": {"target": _CLASSES, "weight": uniform(0.5, 2.0)},
        "defaults": {"reduction": 1, "ignoreIndex": -100},
        "sample_shape": (5, 3) if ranks[-1] == 2 else (2, 3, 4, 2),
    }


def _nll(suffix: str, *ranks: int) -> tuple[Any, Any]:
    forward, backward = _of_nll(*ranks), _of_nll(*ranks)
    backward["short"] |= {"gradOutput": _one, "totalWeight": _one}
    backward["data"] |= {"totalWeight": uniform(1.0, 4.0)}
    return (
        declare(f"NLLLoss{suffix}", _likelihood,
                "out, totalWeightOut = -weight[target] self[target] reduced, and the sum of weight[target]",
                _likelihood_made, **forward),
        declare(f"NLLLoss{suffix}Backward", _likelihood_slope,
                "out = -gradOutput weight[target] at target, divided by totalWeight for mean, 0 elsewhere",
                lambda _grad, self, *_rest: (self.dtype, self.shape), **backward),
    )  # fmt: skip


_ENTROPY: dict[str, Any] = {
    "sample_shape": (5, 3),
    "data": {"target": _CLASSES, "weightOptional": uniform(0.5, 2.0)},
}

OPERATORS = (
    *_nll("", 1, 2),
    *_nll("2d", 4),
    declare("CrossEntropyLoss", _cross_entropy,
            "lossOut, logProbOut = -weight[target] ln softmax(input)[target] reduced, and ln softmax(input)",
            _entropy_made, **_ENTROPY,
            short={"target": _targets(2), "weightOptional": lambda _dtype, shape: ("float32", shape[1:])}),
    declare("CrossEntropyLossGrad", _cross_entropy_slope,
            "out = gradLoss weight[target] (e^logProb - 1 at target), divided by the sum of weight[target] for mean",
            lambda _grad, log, *_rest: (log.dtype, log.shape), sample_shape=(5, 3),
            data={**_ENTROPY["data"], "logProb": uniform(-2.0, -0.1)},
            short={"target": _targets(2), "weightOptional": lambda _dtype, shape: ("float32", shape[1:]),
                   "gradLoss": _one, "gradZlossOptional": lambda *_: None, "lseForZlossOptional": lambda *_: None}),
    declare("MultilabelMarginLoss", _multilabel,
            "out, isTarget = sum of max(0, 1 - self[label] + self[other]) / classes reduced, and 1 at the labels",
            _multilabel_made, sample_shape=(3, 4),
            short={"target": lambda _dtype, shape: ("int64", shape)},
            data={"target": _LABELS}),
)  # fmt: skip
