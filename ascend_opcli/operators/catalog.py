"""Finding an operator by either name: with a reference of ours, of an installed package, then every documented one."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from ascend_opcli.errors import UsageError, did_you_mean
from ascend_opcli.operators import families, packages
from ascend_opcli.operators.documents import by_type, catalogued
from ascend_opcli.operators.operator import Operator, snake

# Families whose contracts are written out: found without importing the others.
WITH_CONTRACTS = (
    "activations.documented_gradients",
    "activations.logits",
    "mixed_precision",
    "norms.batches",
)


class UnknownOperator(UsageError):
    """No operator of this name; the message has the nearest one."""


@lru_cache(maxsize=1)
def _with_contracts() -> dict[str, Operator]:
    """The operators with hand-written contracts, by short name: few, and quick to import."""
    return {op.short_name: op for family in WITH_CONTRACTS for op in _of_family(family)}


@lru_cache(maxsize=1)
def operators() -> dict[str, Operator]:
    """Every operator with a reference of ours, by aclnn name, in alphabetical order."""
    found = {op.name: op for name in _families() for op in _of_family(name)}
    return dict(sorted(found.items()))


def _families() -> list[str]:
    """The modules of the families, by name below their room."""
    found = walk_packages(families.__path__, f"{families.__name__}.")
    return [module.name.removeprefix(f"{families.__name__}.") for module in found]


def _of_family(name: str) -> tuple[Operator, ...]:
    """What a module of the families declares; nothing where it only helps others."""
    return getattr(import_module(f"{families.__name__}.{name}"), "OPERATORS", ())


def _of_few_families(short_name: str) -> Operator | None:
    """The operator, sought in the families whose text has its name: the others need not be imported for it."""
    full = catalogued.names().get(short_name)
    if full is None or operators.cache_info().currsize:
        return None
    words = {f'"{word}"' for word in (full, full.removeprefix("aclnn"), full.removeprefix("aclnnInplace"))}
    for family in _families():
        source = Path(families.__path__[0], *family.split(".")).with_suffix(".py")
        text = source.read_text("utf-8") if source.is_file() else ""
        if any(word in text for word in words):
            for operator in _of_family(family):
                if operator.name == full:
                    return operator
    return None


@lru_cache(maxsize=1)
def _by_short_name() -> dict[str, Operator]:
    return {op.short_name: op for op in operators().values()}


def find(name: str) -> Operator:
    """The operator called ``logit_grad`` or ``aclnnLogitGrad``: one with a reference, else a documented one.

    ``ir:LogitGrad`` is the kernel of that type.
    The name of its phase 1, ``aclnnLogitGradGetWorkspaceSize``, stands for it too.

    Raises UnknownOperator with the nearest right name.
    """
    word = name.strip()[:200]
    if by_type.is_type(word):
        return _by_type(word)
    word = word.removesuffix("GetWorkspaceSize") or word
    wanted = snake(word)
    found = _with_contracts().get(wanted) or _of_few_families(wanted) or _by_short_name().get(wanted)
    if found is not None:
        return found
    installed = of_packages()
    for one in installed.operators.values():
        if wanted == one.short_name:
            return one
    short = catalogued.names()
    full = word if word in short.values() else short.get(wanted)
    if full is not None:
        return catalogued.operator(full)
    there = "; 'opcli ops list' shows what there is, and a case may bring its own signature"
    known = [
        *short,
        *short.values(),
        *installed.operators,
        *(o.short_name for o in installed.operators.values()),
    ]
    hint = did_you_mean(word, known, otherwise=there)
    broken = "".join(f"; {problem}" for problem in installed.problems)
    raise UnknownOperator(f"unknown operator '{word}'{hint}{broken}")


def _by_type(word: str) -> Operator:
    try:
        return by_type.operator(word)
    except KeyError:
        hint = did_you_mean(word, by_type.names(), otherwise="; no public registration has this type")
        raise UnknownOperator(f"unknown operator type '{word}'{hint}") from None


@lru_cache(maxsize=1)
def of_packages() -> packages.FoundPackages:
    """The operators of installed Python packages that are not built in."""
    return packages.found(frozenset(operators()))
