"""Dumps in msprobe's public format, made for these tests from real calls of PyTorch on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch


class Dump:
    """A folder with ``dump.json`` and ``dump_tensor_data``, as msprobe leaves it."""

    def __init__(self, folder: Path, task: str = "tensor", **head: Any) -> None:
        self.folder = folder
        self.data: dict[str, Any] = {}
        self.head = {
            "task": task,
            "level": "L1",
            "framework": "pytorch",
            "dump_data_dir": "/another/machine/step0/rank0/dump_tensor_data",
            **head,
        }
        self._numbers: dict[str, int] = {}
        (folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)

    def call(self, api: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call and dump it; the results."""
        return self.add(api, function(*args, **kwargs), *args, **kwargs)

    def add(self, api: str, results: Any, *args: Any, **kwargs: Any) -> Any:
        """Dump a call with these results."""
        number = self._numbers.get(api, 0)
        self._numbers[api] = number + 1
        name = f"{api}.{number}.forward"
        self.data[name] = {
            "input_args": [self.entry(a, f"{name}.input.{i}") for i, a in enumerate(args)],
            "input_kwargs": {k: self.entry(v, f"{name}.input.{k}") for k, v in kwargs.items()},
            "output": self._several(results, f"{name}.output"),
        }
        return results

    def backward(self, api: str, grads: Any, results: Any) -> None:
        """Dump the gradients of the latest forward call: of its results, and of its inputs."""
        name = f"{api}.{self._numbers[api] - 1}.backward"
        self.data[name] = {
            "input": self._several(grads, f"{name}.input"),
            "output": self._several(results, f"{name}.output"),
        }

    def _several(self, results: Any, stem: str) -> list[Any]:
        listed = list(results) if isinstance(results, tuple) else [results]
        return [self.entry(r, f"{stem}.{i}") for i, r in enumerate(listed)]

    def entry(self, value: Any, stem: str) -> Any:
        """What the dump says of one argument."""
        if isinstance(value, torch.Size):
            return {"type": "torch.Size", "value": list(value)}
        if isinstance(value, (list, tuple)):
            return [self.entry(v, f"{stem}.{i}") for i, v in enumerate(value)]
        if isinstance(value, torch.dtype):
            return {"type": "torch.dtype", "value": str(value)}
        if not isinstance(value, torch.Tensor):
            return None if value is None else {"type": type(value).__name__, "value": value}
        return self.tensor(value, stem)

    def tensor(self, value: torch.Tensor, stem: str) -> dict[str, Any]:
        value = value.detach().contiguous()
        made: dict[str, Any] = {
            "type": "torch.Tensor",
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            **self.statistics(value),
            "requires_grad": False,
        }
        if self.head["task"] == "tensor":
            made["data_name"] = f"{stem}.pt"
            torch.save(value, self.folder / "dump_tensor_data" / made["data_name"])
        return made

    def statistics(self, value: torch.Tensor) -> dict[str, Any]:
        if not value.numel():
            return dict.fromkeys(("Max", "Min", "Mean", "Norm"))
        if value.dtype is torch.bool:
            return {"Max": bool(value.any()), "Min": bool(value.all()), "Mean": None, "Norm": None}
        wide = value.abs().to(torch.float32) if value.is_complex() else value.to(torch.float32)
        made = {"Max": wide.max(), "Min": wide.min(), "Mean": wide.mean(), "Norm": wide.norm()}
        return {key: float(number) for key, number in made.items()}

    def write(self, name: str = "dump.json") -> Path:
        """Write the file."""
        path = self.folder / name
        path.write_text(json.dumps({**self.head, "data": self.data}, indent=1), "utf-8")
        return path
