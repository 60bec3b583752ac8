"""What zipfile and its like raise over an archive that is damaged, and how a sentence says it."""

from __future__ import annotations

import struct
import zipfile
import zlib

BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, NotImplementedError),
    *(OSError, OverflowError, UnicodeDecodeError, KeyError),
)
"""A name that is no UTF-8 is as broken as the rest."""


def why(error: BaseException) -> str:
    """The reason in words: of the operating system where it refuses the file itself, else that it is damaged."""
    if (
        isinstance(error, OSError) and error.strerror and error.errno != 22
    ):  # seeking where a damaged size says
        return error.strerror
    if "CRC-32" in str(error):
        return "it is damaged, the CRC-32 of its bytes differs"
    if "password" in str(error) or "encrypt" in str(error):
        return "it is encrypted"
    return "it is damaged"
