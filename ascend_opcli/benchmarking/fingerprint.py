"""The environment of a measurement: two times taken in different ones are not compared."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

Fingerprint = Mapping[str, str]

# In the order in which a difference is told: what explains most comes first.
NAMES = {
    "backend": "backend",
    "timer": "timer",
    "cache": "cache",
    "sets": "input sets",
    "executors": "executors",
    "soc": "SoC",
    "cann": "CANN",
    "driver": "driver",
    "clock": "device clock",
    "cpu": "CPU",
    "cpus": "number of CPUs",
    "cpu_clock": "CPU clock",
    "governor": "CPU governor",
    "numpy": "NumPy",
}


def differences(here: Fingerprint, there: Fingerprint) -> list[str]:
    """What differs, each as ``CANN 9.1.0 here, 8.5.0 there``; what neither could read does not count."""
    said = []
    for key, name in NAMES.items():
        mine, other = here.get(key, ""), there.get(key, "")
        if mine != other:
            said.append(f"{name} {mine or 'unknown'} here, {other or 'unknown'} in the baseline")
    return said


def of_machine() -> dict[str, str]:
    """The CPU and NumPy."""
    policy = Path("/sys/devices/system/cpu/cpu0/cpufreq")
    found = {
        "cpu": _cpu_model(),
        "cpus": str(os.cpu_count() or ""),
        "cpu_clock": _line(policy / "scaling_max_freq"),
        "governor": _line(policy / "scaling_governor"),
        "numpy": version("numpy"),
    }
    return {key: value for key, value in found.items() if value}


def _cpu_model() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() in ("model name", "cpu model", "hardware"):
            return value.strip()
    return ""


def _line(path: Path) -> str:
    return _text(path).strip()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
