"""What a standard is once it is made concrete for one output dtype."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ascend_opcli.tensors.dtypes import float_format, spacing


@dataclass(frozen=True, slots=True)
class Standard:
    """An acceptance rule made concrete for one output dtype."""

    name: str
    rule: str
    """The rule with its numbers, in words."""
    component: str
    """The dtype of a float or of a complex number's parts: spacings are those of it."""
    kind: str = "linear"
    """What an element must satisfy: ``linear`` |got - golden| <= atol + rtol * |golden|, ``ulp`` <= ulps * spacing,
    ``equal``, ``bits`` and ``bytes`` equality after rounding the golden (``bytes`` with the payload of NaN), ``msopst``
    and ``torch_npu`` the rules of those tools with the threshold ``atol``, ``dual`` that of a third-party result."""
    rtol: float = 0.0
    atol: float = 0.0
    ulps: float = 0.0
    matched: float = 1.0
    """The share of the elements that must at least satisfy the rule."""
    limit: float | None = None
    """The distance within which every element must lie, or within ``limit_ulps`` spacings; None without a limit."""
    limit_ulps: float = 0.0
    mean_limit: float | None = None
    """What the mean of |got - golden| / (|golden| + mean_epsilon) must lie below."""
    mean_epsilon: float = 0.0
    strict: bool = False
    """< instead of <=."""
    forgiven: float | None = None
    """The share of the elements that may fail, instead of ``matched``."""
    non_finite: str = "match"
    """How NaN and Inf count: ``match`` (each must meet its like), ``nan differs`` (NaN does not meet NaN),
    ``nan is good`` (a NaN difference passes), ``in the share`` (an Inf that differs is an element that fails, a NaN
    that does fails the output), ``all in the share`` (so is a NaN), ``golden excuses`` (a golden with any passes the
    output), ``third`` (4.3 of the dual standard) or ``anything``."""
    whole: str = ""
    """A criterion over the whole output: see :mod:`.whole_output`."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers of that criterion."""
    small: float = 0.0
    """The magnitude below which the dual standard counts errors over ``atol``."""
    third: str = ""
    modulus: bool = False
    """A complex number is one value, its error |got - golden|, and NaN where a part is; else each part must satisfy the
    rule."""
    rounded: bool = False
    """The golden counts as it is rounded to the output's dtype, as in the tool whose rule this is."""

    @property
    def equality(self) -> bool:
        """Whether the rule is equality instead of a distance."""
        return self.kind in ("equal", "bits", "bytes")

    def tolerance(self, size: np.ndarray) -> np.ndarray:
        """The tolerance at goldens of the magnitudes ``size``, float64 in and out."""
        if self.equality:
            return np.zeros(size.shape)
        if self.kind == "ulp":
            return self.ulps * spacing(size, self.component)
        if self.kind == "dual":
            return np.where(size < self.small, self.atol, self.rtol * (size + self.mean_epsilon))
        return self.atol + self.rtol * size

    def hard_limit(self, size: np.ndarray) -> np.ndarray | None:
        """The distance that no element may exceed at goldens of the magnitudes ``size``; None without one."""
        if self.limit is None:
            return None
        format = float_format(self.component)
        most = max(float(size.max(initial=0.0)), format.smallest_normal)
        # A spacing is at most 2**-mantissa of its number: mostly the largest golden tells that none counts.
        if self.limit_ulps * math.ldexp(most, -format.mantissa) < self.limit * (1 - 2.0**-40):
            return np.full(size.shape, self.limit)
        return np.maximum(self.limit, self.limit_ulps * spacing(size, self.component))


def number(value: float) -> str:
    """A number as the field writes it: powers of two as 2^-10, the rest in up to six digits."""
    if value > 0 and math.isfinite(value):
        mantissa, exponent = math.frexp(value)
        if mantissa == 0.5 and (exponent <= -3 or exponent > 11):
            return f"2^{exponent - 1}"
    return f"{value:.6g}"


def share_of(value: float, most: float) -> float:
    """How much of what is allowed a value uses; Inf where nothing is."""
    if most > 0.0:
        return value / most
    return math.inf if value > 0.0 else 0.0
