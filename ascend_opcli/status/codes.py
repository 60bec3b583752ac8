"""The table of return codes: aclnnStatus and aclError share one range of 32-bit numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ascend_opcli.errors import UsageError, did_you_mean

SUCCESS = 0

GROUPS: Mapping[str, str] = {
    "aclnn": "operator API (aclnn)",
    "acl": "ACL",
    "rt": "runtime",
    "ge": "graph engine",
}

_CLASSES: Mapping[int, str] = {
    0: "success",
    1: "the caller or the environment",
    2: "a resource is exhausted or a feature not supported",
    3: "a state of the business logic",
    5: "inside the software or the hardware",
}


class UnknownCode(UsageError):
    """No return code has this number or name."""


@dataclass(frozen=True, slots=True)
class ReturnCode:
    """One code. ``fix`` is what usually mends it, empty where nobody knows; ``common`` marks those one meets.

    ``fault`` says whose fault it is where an operator's call returns it: that of the ``call`` (its arguments, the order
    of what is called), of the ``operator`` and its kernel, or of the ``surroundings`` (device, driver, memory,
    installation).
    """

    code: int
    name: str
    group: str
    meaning: str
    fix: str = ""
    aliases: tuple[str, ...] = ()
    fault: str = ""
    common: bool = False

    @property
    def cause(self) -> str:
        """Whose fault the number's first digit says it is."""
        return _CLASSES.get(self.code // 100000, "unknown")


@lru_cache(maxsize=1)
def all_codes() -> tuple[ReturnCode, ...]:
    """Every known code, by number."""
    table = json.loads(files("ascend_opcli.status").joinpath("return_codes.json").read_text("utf-8"))
    return tuple(ReturnCode(**{**row, "aliases": tuple(row.get("aliases", ()))}) for row in table["codes"])


def lookup(word: str | int) -> ReturnCode:
    """The code with this number, name or alias; the prefix of a name may be left out.

    Raises UnknownCode with the nearest right name.
    """
    text = str(word).strip()
    if re.fullmatch(r"[+-]?[0-9]{1,12}", text, re.ASCII):
        number = int(text)
        for code in all_codes():
            if code.code == number:
                return code
        near = min(all_codes(), key=lambda c: abs(c.code - number))
        raise UnknownCode(f"unknown return code {number}; the nearest known one is {near.code} {near.name}")
    wanted = text.upper()
    for code in all_codes():
        if wanted in (code.name, *code.aliases):
            return code
    shortened = [c for c in all_codes() for n in (c.name, *c.aliases) if n.endswith("_" + wanted)]
    if len({c.code for c in shortened}) == 1:
        return shortened[0]
    names = [n for c in all_codes() for n in (c.name, *c.aliases)]
    raise UnknownCode(f"unknown return code '{text}'{did_you_mean(wanted, names)}")


@lru_cache(maxsize=1)
def _surroundings() -> frozenset[int]:
    return frozenset(c.code for c in all_codes() if c.fault == "surroundings")


def is_surroundings(code: int) -> bool:
    """Whether a code says that device, driver, memory or installation failed, not the operator."""
    return code in _surroundings()


def name_of(code: int) -> str:
    """The name of a code, or its number as text where nobody has named it."""
    return next((c.name for c in all_codes() if c.code == code), str(code))


def describe(code: int) -> str:
    """``161002 ACLNN_ERR_PARAM_INVALID``, as reports print a status."""
    name = name_of(code)
    return str(code) if name == str(code) else f"{code} {name}"
