"""The double benchmark: errors against those of a third-party result (the commercial Ascend precision standard).

An element is compared where output and golden are numbers. Where the third party's is none there, it has no
error to set against: the output must then be as near to the golden as the rule lets any element be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ascend_opcli.verification.compare.elements import same
from ascend_opcli.verification.compare.scaled import Scaled, add_squares
from ascend_opcli.verification.compare.wide_blocks import wide_blocks
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.standards.rule import Standard, share_of


@dataclass
class _Errors:
    """Sums of one result's errors over blocks, where |golden| is not small, and errors counted where it is."""

    mare: float = 0.0
    relative: float = 0.0
    squares: Scaled = field(default_factory=Scaled)
    counted: int = 0

    def add(self, x: np.ndarray, y: np.ndarray, large: np.ndarray, small: np.ndarray, rule: Standard) -> None:
        error = np.abs(x - y)
        relative = error[large] / (np.abs(y[large]) + rule.mean_epsilon)
        self.mare = max(self.mare, float(relative.max(initial=0.0)))
        self.relative += float(relative.sum())
        add_squares(error[large], self.squares)
        self.counted += int(np.count_nonzero(error[small] > rule.atol))


@dataclass
class _Special:
    """Elements with a NaN or Inf, by how the three results lie to each other."""

    alone: int = 0
    different: int = 0
    accepted: int = 0
    left_out: int = 0

    def add(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, with_inf: bool) -> None:
        """Elements where the output or the golden is NaN or Inf; ``with_inf``: INF_NAN_MODE_ENABLE is 1."""
        infinite = np.isinf(x) | np.isinf(y)
        if not with_inf:
            self.left_out += int(np.count_nonzero(infinite & ~same(x, y)))
            x, y, z = x[~infinite], y[~infinite], z[~infinite]
        good = same(x, z) | (~np.isfinite(y) & same(x, y))
        # How far two numbers are apart is a matter of the ratios.
        agree = same(z, y) | (np.isfinite(z) & np.isfinite(y))
        self.alone += int(np.count_nonzero(~good & agree))
        self.different += int(np.count_nonzero(~good & ~agree))
        self.accepted += int(np.count_nonzero(good & ~same(x, y)))


def dual(comparison: Comparison, standard: Standard) -> tuple[Standard, list[str], float, list[str]]:
    """The standard with the tolerance that the third party allows, what failed, the share used, warnings."""
    ours, theirs, special = _Errors(), _Errors(), _Special()
    count = lone = 0
    with np.errstate(all="ignore"):
        for x, y, z in wide_blocks(comparison, third=True):
            numbers = np.isfinite(x) & np.isfinite(y)
            known = numbers & np.isfinite(z)
            size = np.abs(y)
            large, small = known & (size >= standard.small), size < standard.small
            count += int(np.count_nonzero(large))
            lone += int(np.count_nonzero(numbers & ~known))
            ours.add(x, y, large, numbers & small, standard)
            theirs.add(z, y, large, known & small, standard)
            others = ~numbers
            if others.any():
                special.add(x[others], y[others], z[others], bool(standard.numbers["inf_nan_mode"]))

    reach = standard.numbers["mare"] * max(theirs.mare, standard.small)
    standard = replace(standard, rtol=reach)
    far, share = _lone(comparison, standard) if lone else (0, 0.0)
    phrases: list[str] = []
    if special.alone:
        phrases.append(
            f"{special.alone:,} NaN or Inf where the third party agrees with the golden and the output does not"
        )
    if special.different + far:
        phrases.append(
            f"{special.different + far:,} NaN or Inf where output, golden and third party all differ: investigate"
        )
    if special.alone + special.different:
        share = math.inf
    n = max(count, 1)
    figures = {
        "mare": (ours.mare, theirs.mare),
        "mere": (ours.relative / n, theirs.relative / n),
        "rmse": (ours.squares.root(n), theirs.squares.root(n)),
    }
    for name, (mine, other) in figures.items():
        found, most = _ratio(mine, other, standard.small), standard.numbers[name]
        # Two results without any error have the ratio 1; the share used is what the error uses.
        share = max(share, share_of(mine, most * max(other, standard.small)) if mine else 0.0)
        if not found <= most:
            phrases.append(f"{name.upper()} {mine:.3g} is {found:.3g} times the third party's, over {most:g}")
    small_ratio = ours.counted / max(theirs.counted, 1)
    share = max(share, small_ratio / 2.0)
    if small_ratio > 2.0:
        phrases.append(
            f"{ours.counted:,} errors in the small-value domain against {theirs.counted:,} of the third party"
        )
    warnings = []
    if special.accepted:
        warnings.append(
            f"dual accepts {special.accepted:,} NaN or Inf that differ from the golden as the third party does"
        )
    if special.left_out:
        warnings.append(f"dual leaves {special.left_out:,} Inf out of the comparison (inf_nan_mode 0)")
    return standard, phrases, share, warnings


def _lone(comparison: Comparison, standard: Standard) -> tuple[int, float]:
    """Numbers that the third party has not: how many are too far from the golden, and the share used at most."""
    far, share = 0, 0.0
    with np.errstate(all="ignore"):
        for x, y, z in wide_blocks(comparison, third=True):
            size = np.abs(y)
            lone = np.isfinite(x) & np.isfinite(y) & ~np.isfinite(z)
            # Below the small value, where errors are counted too, the tolerance is the one at that value.
            allowed = standard.tolerance(np.maximum(size[lone], standard.small))
            error = np.abs(x - y)[lone]
            far += int(np.count_nonzero(error > allowed))
            share = max(share, float((error / allowed).max(initial=0.0)))
    return far, share


def _ratio(mine: float, other: float, least: float) -> float:
    return 1.0 if mine == other == 0.0 else mine / max(other, least)
