"""Small files in the formats of other tools, written for these tests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ascend_opcli.casefile.open import load_file
from ascend_opcli.model import Case
from ascend_opcli.verification.standards.choice import check_for

Write = Callable[[str, str], Path]


def loaded(path: Path) -> tuple[Case, ...]:
    """The cases of a file."""
    return load_file(path, check_standard=check_for).cases


def atk_input(
    kind: str, dtype: str | int, values: Any, shape: list[int] | None = None, name: str = "", **more: Any
) -> dict[str, Any]:
    """An input object of ATK."""
    return {
        "name": name,
        "type": kind,
        "required": True,
        "dtype": dtype,
        "range_values": values,
        "shape": shape,
        "backward": False,
        **more,
    }


def atk_case(
    number: int, operator: str, inputs: list[Any], acc: Any = "default", **more: Any
) -> dict[str, Any]:
    """A case of ATK."""
    return {
        "id": number,
        "name": "torch.something",
        "aclnn_name": operator,
        "api_type": "function",
        "standard": {"acc": acc, "perf": "not_key"},
        "inputs": inputs,
        **more,
    }


def atk_text(*cases: Any) -> str:
    """The text of an ATK file."""
    return json.dumps(list(cases), indent=2)


def add_case(number: int = 0, acc: Any = "default", **more: Any) -> dict[str, Any]:
    """An ATK case of aclnnAdd that fits its prototype: self, other, alpha."""
    tensor = ("tensor", "fp32", [-5, 5], [2, 3])
    inputs = [atk_input(*tensor), atk_input(*tensor), atk_input("scalar", "fp32", 2)]
    return atk_case(number, "Add", inputs, acc, **more)


def csv_text(*rows: dict[str, str]) -> str:
    """The text of a TTK table; its columns are those of the rows together."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
