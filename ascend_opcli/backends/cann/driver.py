"""The driver as the host sees it: its version, its device files, and the health that npu-smi tells."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from ascend_opcli.backends.cann import discovery
from ascend_opcli.backends.cann.finding import MISSING, NOTE, OK, Finding

VERSION_FILES = ("usr/local/Ascend/driver/version.info", "etc/ascend_install.info")
MANAGER = "dev/davinci_manager"
NPU_SMI_TIMEOUT = 10.0
_HEALTH = re.compile(r"^\s*Health(?: Status)?\s*:\s*(\S.*?)\s*$", re.MULTILINE)
_PERMISSION = "add the user to the group HwHiAiUser"


def visible_devices(environ: Mapping[str, str], root: Path = Path("/")) -> int:
    """Devices that a process sees: those of ASCEND_RT_VISIBLE_DEVICES, else the device files; 0 where neither says."""
    named = environ.get("ASCEND_RT_VISIBLE_DEVICES", "")
    return len([v for v in named.split(",") if v.strip()]) or len(list(root.glob("dev/davinci[0-9]*")))


def driver_version(root: Path = Path("/")) -> str:
    """The version that the driver's own file names, empty where there is none."""
    for name in VERSION_FILES:
        try:
            text = (root / name).read_text("utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key.strip().lower() in ("version", "driver_version"):
                return value.strip()
    return ""


def examine(environ: Mapping[str, str], device: int, root: Path = Path("/")) -> Iterator[Finding]:
    """The device files and the driver. What cannot be read is called not checked, never fine."""
    # Numbers only: davinci_manager has the same beginning.
    files = sorted(root.glob("dev/davinci[0-9]*"))
    closed = [str(f) for f in files if not os.access(f, os.R_OK | os.W_OK)]
    if closed:
        yield Finding(MISSING, "device files", f"no permission for {', '.join(closed)}", _PERMISSION)
    elif files:
        yield Finding(OK, "device files", ", ".join(map(str, files)))
    else:
        fix = "install the driver and firmware, or map /dev/davinci* into the container"
        yield Finding(NOTE, "device files", "no /dev/davinci*", fix)
    yield from _driver(environ, device, root, bool(files))


def _driver(environ: Mapping[str, str], device: int, root: Path, devices: bool) -> Iterator[Finding]:
    version, manager = driver_version(root), root / MANAGER
    said = [f"version {version}" if version else f"version not checked: no /{VERSION_FILES[0]}"]
    if manager.exists() and not os.access(manager, os.R_OK | os.W_OK):
        yield Finding(MISSING, "driver", f"{said[0]}; no permission for {manager}", _PERMISSION)
        return
    if manager.exists():
        said.append(f"{manager} is there")
    elif devices:
        # A container with the devices alone cannot open them.
        yield Finding(MISSING, "driver", f"{said[0]}; no {manager}", f"map {manager} into the container")
        return
    program = shutil.which("npu-smi", path=environ.get("PATH", ""))
    health = _health(program, environ, device) if program is not None else "no npu-smi"
    checked = version or manager.exists() or health.startswith("npu-smi:")
    said.append(health if health.startswith("npu-smi:") else f"health not checked: {health}")
    if health.startswith("npu-smi:") and not health.endswith(": OK"):
        yield Finding(NOTE, "driver", "; ".join(said), "npu-smi info shows what is wrong with the device")
    elif checked:
        yield Finding(OK, "driver", "; ".join(said))
    else:
        fix = (
            "where there is an NPU: install the driver, or map its folder and device files into the container"
        )
        yield Finding(NOTE, "driver", "; ".join([*said[:1], f"no {manager}", *said[1:]]), fix)


def _asked(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program, "info", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=NPU_SMI_TIMEOUT, check=False, errors="replace"
    )


def _placed(table: str, number: str) -> tuple[str, str]:
    """The NPU ID and the chip of a device number, by the table that ``npu-smi info -m`` prints: a card of the A3 holds
    two devices. Without such a table the number is the card's, of whichever chip."""
    columns: list[str] = []
    for line in table.splitlines():
        cells = re.split(r"\s{2,}|\t", line.strip())
        if "NPU ID" in cells:
            columns = cells
        row = dict(zip(columns, cells, strict=False))
        if row.get("Chip Logic ID") == number:
            return row["NPU ID"], row.get("Chip ID", "")
    return number, ""


def _health(program: str, environ: Mapping[str, str], device: int) -> str:
    """``npu-smi: card N: OK``, or why there is no such answer."""
    visible = [v for v in environ.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",") if v.strip().isdigit()]
    number = visible[device].strip() if device < len(visible) else str(device)
    try:
        card, chip = _placed(_asked(program, "-m").stdout, number)
        done = _asked(program, "-t", "health", "-i", card, *(("-c", chip) if chip else ()))
    except (OSError, subprocess.SubprocessError) as error:
        return f"npu-smi gave no answer ({type(error).__name__})"
    found = _HEALTH.findall(done.stdout)
    if done.returncode != 0 or not found:
        return f"npu-smi cannot tell for card {card} (exit {done.returncode})"
    # A card may have several chips; the worst is what counts.
    return f"npu-smi: card {card}: {next((f for f in found if f != 'OK'), 'OK')}"


_CLOCK = re.compile(r"^\s*Aicore Freq\s*\(MHz\)\s*:\s*(\d+)", re.IGNORECASE | re.MULTILINE)


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
