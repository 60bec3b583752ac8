"""opcli: run Ascend NPU operators and prove that they are right.

In Python: :func:`assert_close`, :func:`judge` and :func:`run_case`. They are loaded when they are first used, so that
importing this package costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

    from ascend_opcli.api import assert_close, judge, run_case

__version__ = "0.1.0"
__all__ = ["__version__", "assert_close", "judge", "run_case"]


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("ascend_opcli.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
