"""What it means that a reference has no result for a call: ours say so in words, a case's own has failed."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from ascend_opcli.operators.operator import Operator, Undefined


class ReferenceFailure(Exception):
    """A reference failed or gave something that is no result of this call."""


class UndefinedResult(ReferenceFailure):
    """The call has no defined result: nothing that an operator gives could be wrong."""


def no_result(operator: Operator, why: str) -> ReferenceFailure:
    """A reference of ours is right, so that the call has no such result; one that a case brought has failed."""
    return ReferenceFailure(why) if operator.own else UndefinedResult(why)


_NO_CALL: Mapping[type[Exception], str] = {
    IndexError: "an axis or an index lies outside of its tensor",
    OverflowError: "a number is too large for what it stands for",
    ZeroDivisionError: "a size or a step is 0",
    np.exceptions.ComplexWarning: "an imaginary part would be lost",
    TypeError: "an input or attribute is of a kind that the operator does not work with",
    ValueError: "shapes, sizes or axes do not go together",
}
"""What it means that NumPy raises this within one of our references; the first that fits counts."""


@contextlib.contextmanager
def fitting(operator: Operator) -> Iterator[None]:
    """Whatever stops one of our references is the call's doing, and no word of NumPy's reaches a report.

    Raises UndefinedResult. A case's own reference may raise and warn as it likes.
    """
    if operator.own:
        yield
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            yield
    except (Undefined, ReferenceFailure, MemoryError):
        raise
    except Exception as error:
        why = next((said for kind, said in _NO_CALL.items() if isinstance(error, kind)), None)
        raise UndefinedResult(f"the arguments fit no call: {why or 'they have no result'}") from error


def in_words(error: BaseException) -> str:
    """What stopped an expression, in its own sentence where it has one, and in no word of NumPy's."""
    ufunc = getattr(error, "ufunc", None)
    if ufunc is not None:
        return f"{ufunc.__name__} does not take values of these dtypes"
    if isinstance(error, TypeError):
        return "a value is null, or of a kind that the expression does not work with"
    text = str(error)
    if "broadcast" in text:
        return "shapes do not broadcast together"
    if "truth value" in text:
        return "one truth value is asked of a whole array"
    return text
