"""References that are Python files: ``file.py:function``, and the golden.py of TTK. Imported only on request.

A plain function is called by names. A function that the file registers in ``__golden__`` or ``__spec__`` is called as
TTK calls it: see :mod:`.ttk_golden`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from ascend_opcli.operators.operator import TOLD, Operator, Reference
from ascend_opcli.reference import reading
from ascend_opcli.reference.ttk_golden import registered

_CODE = re.compile(r"^(?P<file>[^:]+\.py)(?::(?P<function>[A-Za-z_][\w.]*))?$")


def parts(reference: str) -> tuple[str, str] | None:
    """File and function of a reference that is code (an empty function is TTK's choice), None for an expression."""
    match = _CODE.match(reference)
    return (match["file"], match["function"] or "") if match is not None else None


def load(reference: str, folder: Path, operator: Operator) -> tuple[Reference, tuple[str, ...]]:
    """The function that a reference names, in a file inside ``folder``, and what a report should say of it.

    Raises ValueError where the file lies outside, is missing, cannot be imported or has no such function.
    """
    named = parts(reference)
    if named is None:
        raise ValueError(f"'{reference}' is neither file.py:function nor golden.py")
    file, name = named
    path = (folder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"the reference {file} lies outside the case file's folder")
    if not path.is_file():
        raise ValueError(f"the reference file {file} does not exist")
    stat = path.stat()
    module = _module(path, stat.st_mtime_ns, stat.st_size)
    golden = registered(module, path.name, name, operator)
    if golden is not None:
        return _aside(golden), golden.remarks()
    found = getattr(module, name, None)
    if not callable(found):
        raise ValueError(f"{path.name} has no function {name}")
    given = [p.name for p in operator.signature.params if p.io != "out"]
    exact = [f"exact_{p.name}" for p in operator.signature.attributes]
    for other in reading.strays(found, {*given, *exact, *TOLD}):
        raise ValueError(
            f"{name} of {path.name} takes '{other}', which {operator.name} does not have{reading.near(other, given)}"
        )
    return _aside(found), ()


@functools.lru_cache(maxsize=64)
def _module(path: Path, *_version: int) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"opcli_reference_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    try:
        with contextlib.redirect_stdout(sys.stderr), _beside(path.parent):
            spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        extra = ": pip install 'ascend-opcli[torch]'" if error.name == "torch" else ""
        raise ValueError(f"{path.name} needs {error.name}, which is not installed{extra}") from None
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path.name} cannot be imported: {type(error).__name__}: {error}") from None
    return module


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """Modules beside a reference can be imported by it, and are nobody else's afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).resolve().is_relative_to(folder):
                del sys.modules[name]


def _aside(function: Reference) -> Reference:
    """The function with what it prints on stderr (stdout belongs to the report) and its results as arrays."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with contextlib.redirect_stdout(sys.stderr):
            return as_arrays(function(*args, **kwargs))

    return run


def as_arrays(result: Any) -> Any:
    """Tensors of PyTorch become arrays of the same dtype; everything else stays."""
    if isinstance(result, (tuple, list)):
        return tuple(as_arrays(item) for item in result)
    if not hasattr(result, "detach"):
        return result
    tensor = result.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        return np.asarray(tensor.float().numpy()).astype(ml_dtypes.bfloat16)
    return tensor.numpy()
