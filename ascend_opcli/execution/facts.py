"""What a report says of the run itself: versions and the machine."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from typing import Any

from ascend_opcli import __version__


def run_facts() -> dict[str, Any]:
    """Versions, platform, time."""
    return {
        "opcli": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "ml_dtypes": version("ml_dtypes"),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
