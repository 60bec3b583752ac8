"""Judging and running from Python: what ``opcli compare`` and ``opcli run`` do, for use inside any test.

Tensors are NumPy arrays (bfloat16 and float8 by ml_dtypes) or tensors of PyTorch on any device; those that are not on
the CPU are copied there. PyTorch is not imported here: a tensor of it can only come from somebody who has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_opcli.errors import UsageError, did_you_mean
from ascend_opcli.model import OutputReport, Result, StandardChoice, VerdictKind
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import name_of
from ascend_opcli.tensors.saved import of_tensor
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.saved_tensors import compare
from ascend_opcli.verification.standards import named

ORIGIN = "argument standard"
BACKENDS = ("auto", "host", "device")


def judge(
    actual: Any,
    expected: Any,
    *,
    standard: str | StandardChoice | None = None,
    dtype: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    third: Any = None,
    name: str = "output",
) -> OutputReport:
    """Judges the output of an operator by its golden, as ``opcli compare`` does.

    ``actual`` is the output and ``expected`` the golden, both of any one shape: a NumPy array or a tensor of PyTorch.
    The dtype of ``actual`` is the output's, and ``dtype`` the one that it should have, where that is to be judged too.
    The golden is best left in float64: it is not rounded before it is compared. Another shape or dtype than expected
    is a failed report, not an error.

    ``standard`` is what ``--standard`` takes: ``"ulp:max=2"``, ``"allclose:rtol=1e-3,atol=1e-5"``, or ``"all"`` for the
    default with every other standard beside it; without one the output's dtype decides. ``inputs``, tensors by
    parameter name, are shown at the worst elements and used by the diagnosis. ``third`` is the third-party result that
    the standard ``dual`` needs, a tensor of the shape of ``actual``. ``name`` is the output's name in the report.

    Raises TypeError for what is no tensor, ValueError in one sentence for a dtype, a standard or one of its numbers
    that opcli does not have.

    >>> import numpy as np
    >>> golden = np.array([1.0, 2.0, 3.0, 4.0])
    >>> report = judge(np.float32([1.0, 2.0, 3.5, 4.0]), golden, standard="ulp:max=2")
    >>> report.passed, report.census.exact, report.census.over
    (False, 3, 1)
    >>> report.worst[0].index
    (2,)
    """
    got, golden = _array("actual", actual), _array("expected", expected)
    own, _ = _dtype_name("actual", got), _dtype_name("expected", golden)
    wanted = own if dtype is None else _dtype_named(dtype)
    if golden.dtype.kind == "b" and dtype_of(wanted).kind in ("float", "complex"):
        raise ValueError(f"expected holds bool, which is no golden of {wanted}")
    choice, every = _standard(standard)
    choice = choice or named.default_for(wanted)
    beside = _third(third, choice, got, every)
    comparison = Comparison(_name(name), got, golden, wanted, third=beside, inputs=_inputs(inputs) or {})
    return compare(comparison, choice, every)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    standard: str | StandardChoice | None = None,
    dtype: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    third: Any = None,
    name: str = "output",
    strict: bool = False,
) -> None:
    """Raises AssertionError, with the report of ``opcli compare`` as its text, where ``actual`` fails.

    The arguments and the other errors are those of :func:`judge`. With ``strict`` an output fails as well where a cheap
    wrong answer, such as zeros or an input copied through, would have passed (WEAK).

    >>> import numpy as np
    >>> assert_close(np.float16([0.5, 0.25]), np.array([0.5, 0.25]))
    >>> assert_close(np.float32([1.0, 2.0]), np.array([1.0, 2.5]))
    Traceback (most recent call last):
        ...
    AssertionError: FAIL output against expected
      float32[2], worst element at 204x of the tolerance
    ...
    """
    __tracebackhide__ = True  # pytest then shows the line that called
    report = judge(actual, expected, standard=standard, dtype=dtype, inputs=inputs, third=third, name=name)
    if report.passed and not (strict and report.weak):
        return
    from ascend_opcli.reporting.compare import lines

    text = "\n".join(lines(report, report.name, "expected"))
    if report.passed:
        text = f"WEAK is a failure where strict is asked for\n{text}"
    raise AssertionError(text)


def run_case(
    case: str | os.PathLike[str],
    *,
    backend: str = "auto",
    device: int = 0,
    product: str | None = None,
    standard: str | StandardChoice | None = None,
    allow_code: bool = False,
    timeout: float = 60.0,
    check: bool = False,
) -> Result:
    """Runs and judges one case of a case file, as ``opcli run FILE::CASE`` does.

    ``case`` is ``"FILE::CASE"``, or a file that holds one case only. ``backend`` is ``auto``, ``host`` or ``device``:
    on the host no operator is executed. ``product`` serves a case that names none. ``standard`` overrides those of the
    case, ``"all"`` adds every other one to its reports. ``allow_code`` lets the case's reference be code. A device is
    opened for this call alone, in a process of its own, and the case has ``timeout`` seconds on it.

    With ``check`` a verdict of FAIL or ERROR is raised as AssertionError with the text of the report. Raises UsageError
    for a path, a case or an argument that does not exist, CaseFileError with the place for a file that cannot be read
    as one, SurroundingsError for a device that cannot be opened.

    >>> result = run_case("cases/logit_grad.yaml::documented-example", backend="host")
    >>> result.verdict.word.value, result.backend
    ('PASS', 'host')
    """
    __tracebackhide__ = True
    from ascend_opcli.execution.request import one_case
    from ascend_opcli.execution.runner import Settings
    from ascend_opcli.execution.target import TargetRequest
    from ascend_opcli.operators.products import product as product_named

    if not isinstance(case, (str, os.PathLike)):
        raise TypeError(f"case is the text FILE::CASE or a path, not {_kind(case)}")
    path = os.fspath(case)
    if path.partition("::")[0] == "-":
        raise UsageError("run_case takes FILE::CASE, not standard input")
    if backend not in BACKENDS:
        known = f": it is one of {', '.join(BACKENDS)}"
        raise UsageError(
            f"there is no backend {backend!r}{did_you_mean(str(backend), BACKENDS, otherwise=known)}"
        )
    if isinstance(device, bool) or not isinstance(device, (int, np.integer)):
        raise TypeError(f"device is the number of a device, not {_kind(device)}")
    if device < 0:
        raise UsageError(f"device is the number of a device, 0 or more, not {device}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float, np.number)):
        raise TypeError(f"timeout is a number of seconds, not {_kind(timeout)}")
    if product is not None and not isinstance(product, str):
        raise TypeError(f"product is a name, not {_kind(product)}")
    if not timeout > 0 or timeout == float("inf"):
        raise UsageError(f"timeout is a number of seconds above 0, not {timeout}")
    try:
        home = product_named(product) if product is not None else None
        choice, every = _standard(standard)
    except ValueError as error:
        raise UsageError(str(error)) from None
    settings = Settings(
        product=home,
        standard=choice,
        all_standards=every,
        allow_code=allow_code,
        rerun=backend != "auto",
    )
    result = one_case(path, TargetRequest(backend, device, timeout=timeout), settings, "run_case")
    if check and result.verdict.word in (VerdictKind.FAIL, VerdictKind.ERROR):
        from ascend_opcli.reporting.details import detail_lines

        raise AssertionError("\n".join(detail_lines(result)))
    return result


# --- arguments ------------------------------------------------------------------------------------------------


def _array(what: str, value: Any) -> np.ndarray:
    """A tensor as an array, sharing its memory where that can be."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        tensor: Any = value
        try:
            return of_tensor(what, tensor.detach().cpu().resolve_conj().resolve_neg())
        except (RuntimeError, TypeError, NotImplementedError) as error:
            said = str(error).partition("\n")[0]
            raise ValueError(f"{what}, a tensor on {tensor.device}, cannot be read: {said}") from None
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array; say what its masked elements hold: {what}.filled(...)")
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    hint = "; judge its members one by one" if isinstance(value, (list, tuple)) else ""
    raise TypeError(f"{what} must be a NumPy array or a tensor of PyTorch, not {_kind(value)}{hint}")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _dtype_name(what: str, array: np.ndarray) -> str:
    try:
        return name_of(array.dtype)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _dtype_named(word: Any) -> str:
    """The canonical name of a dtype that is given as text, as NumPy's or as PyTorch's."""
    if isinstance(word, np.dtype) or (isinstance(word, type) and issubclass(word, np.generic)):
        return _dtype_name("dtype", np.empty(0, word))
    return dtype_of(str(word)).name


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name must be text, not {_kind(name)}")
    return name


def _inputs(inputs: Any) -> dict[str, np.ndarray]:
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        raise TypeError(f"inputs are tensors by parameter name, {{'x': x}}, not {_kind(inputs)}")
    arrays = {_name(name): _array(f"input {name}", value) for name, value in inputs.items()}
    for name, array in arrays.items():
        _dtype_name(f"input {name}", array)
    return arrays


def _standard(standard: Any) -> tuple[StandardChoice | None, bool]:
    """The choice, None for that of the dtype, and whether every standard is to be shown."""
    if standard is None or standard == named.ALL:
        return None, standard is not None
    if isinstance(standard, StandardChoice):
        named.check(standard)
        return standard, False
    if not isinstance(standard, str):
        raise TypeError(f"standard is text such as 'ulp:max=2', not {_kind(standard)}")
    return named.parse(standard, ORIGIN), False


def _third(third: Any, choice: StandardChoice, got: np.ndarray, every: bool) -> np.ndarray | None:
    if choice.name == "dual" and choice.numbers.get("third"):
        raise ValueError("the third-party result of the standard dual is a tensor here: third=...")
    if third is None:
        if choice.name == "dual":
            raise ValueError("the standard dual needs a third-party result: third=TENSOR")
        return None
    if choice.name != "dual" and not every:
        raise ValueError(f"third is for the standard dual; {choice.name} has no use for it")
    array = _array("third", third)
    _dtype_name("third", array)
    if array.shape != got.shape:
        raise ValueError(f"third has the shape {list(array.shape)}, actual has {list(got.shape)}")
    return array
