"""The environment of a measurement: two times taken in different ones are not compared."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from ascend_opcli.backends.cann import discovery
from ascend_opcli.backends.cann.driver import driver_version

Fingerprint = Mapping[str, str]

_CLOCK = re.compile(r"^\s*Aicore Freq\s*\(MHz\)\s*:\s*(\d+)", re.IGNORECASE | re.MULTILINE)

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


def of_device(
    said: Mapping[str, str], device: int, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The device, by what ACL says of it, the version files, and npu-smi where it is there."""
    home = discovery.root(environ)
    found = {
        "soc": said.get("soc", ""),
        "cann": said.get("cann", "") or ((discovery.cann_version(home) or "") if home is not None else ""),
        "driver": driver_version(),
        "clock": device_clock(device, environ),
    }
    return {key: value for key, value in found.items() if value}


def device_clock(device: int, environ: Mapping[str, str] = os.environ) -> str:
    """The clock of the AI cores in MHz as npu-smi has it; empty where it cannot be asked."""
    program = shutil.which("npu-smi", path=environ.get("PATH"))
    if program is None:
        return ""
    command = [program, "info", "-t", "common", "-i", str(device)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    match = _CLOCK.search(done.stdout)
    return f"{match[1]} MHz" if match is not None else ""


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
