"""opcli: run Ascend NPU operators and prove that they are right."""

__version__ = "0.1.0"
