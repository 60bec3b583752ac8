"""The operators that a library defines, read from its file: nothing of it is loaded."""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path

DYNSYM = 11
_SECTION = "IIQQQQIIQQ"  # name, type, flags, address, offset, size, link, info, alignment, entry size
_SYMBOL = "IBBHQQ"  # name, info, other, section, value, size
_ENTRY = re.compile(rb"(aclnn\w+)GetWorkspaceSize\0", re.ASCII)
MAX_NAME = 256


def defined(path: Path) -> frozenset[str]:
    """The aclnn names whose phase 1 a shared object (64-bit ELF) defines, not those that it only calls; empty for
    anything else."""
    if not path.is_file():
        return frozenset()
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return frozenset(_names(data))
    except (OSError, ValueError, OverflowError, IndexError, struct.error):
        return frozenset()


def _names(data: mmap.mmap) -> set[str]:
    if data[:5] != b"\x7fELF\x02":
        return set()
    order = "<" if data[5] == 1 else ">"
    (start,) = struct.unpack_from(f"{order}Q", data, 0x28)
    size, count = struct.unpack_from(f"{order}HH", data, 0x3A)
    sections = [struct.unpack_from(order + _SECTION, data, start + i * size) for i in range(count)]
    table = next((section for section in sections if section[1] == DYNSYM), None)
    if table is None:
        return set()
    offset, length = table[4], table[5]
    names, names_size = sections[table[6]][4:6]
    found: set[str] = set()
    for name, _, _, where, _, _ in struct.iter_unpack(order + _SYMBOL, data[offset : offset + length]):
        if where == 0 or name >= names_size:  # undefined: another library has it
            continue
        match = _ENTRY.match(data[names + name : names + name + MAX_NAME])
        if match is not None:
            found.add(match[1].decode("ascii"))
    return found
