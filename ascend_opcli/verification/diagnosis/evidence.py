"""What the rules look at: the wrong elements, a bounded sample of all, the inputs there, the operator again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ascend_opcli.model import Attribute, BoundArgument, Tensor
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import float_format, part, round_to, spacing
from ascend_opcli.tensors.flat import spread, take
from ascend_opcli.tensors.layout import view
from ascend_opcli.verification.compare.elements import failing, figures, same, wide
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis.explanation import Explanation, percent
from ascend_opcli.verification.diagnosis.rerun import Rerun
from ascend_opcli.verification.diagnosis.wrong_elements import WrongElements
from ascend_opcli.verification.standards.named import Standard
from ascend_opcli.verification.weak_answers import sample

NEARLY_ALL = 0.95
"""The share of the wrong elements that an explanation must reach to be said at all."""

NEARER = 16.0
"""So many times nearer than the golden must another value lie to an output to explain it."""

# Within this of another value, relative, an output may be it: a kernel rounds otherwise than the host.
_ALIKE = {
    "float16": 2.0**-9,
    "bfloat16": 2.0**-6,
    "float32": 2.0**-12,
    "float64": 2.0**-40,
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
}


@dataclass
class Evidence:
    """A failed output, ``standard`` being a rule for its elements and ``places`` the wrong ones.

    Rules look at the elements at the flat places ``at``, ascending: a sample of the wrong ones, marked by ``wrong``,
    and a sample of all.
    """

    comparison: Comparison
    standard: Standard
    places: WrongElements

    # --- the elements that are looked at ------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        return self.comparison.dtype

    @property
    def golden(self) -> np.ndarray:
        return self.comparison.golden

    @property
    def shape(self) -> tuple[int, ...]:
        return self.golden.shape

    @cached_property
    def at(self) -> np.ndarray:
        return np.union1d(self.places.sample, sample(self.places.total))

    @cached_property
    def wrong(self) -> np.ndarray:
        """Which of the elements looked at are wrong. Of those not listed, by what the standard says of them."""
        if self.places.all_listed:
            return np.isin(self.at, self.places.listed, assume_unique=True)
        found = self.raw, take(self.golden, self.at), self.dtype, self.standard
        bad = failing(*found)
        if self.comparison.written is not None:
            bad |= ~take(self.comparison.written, self.at)
        return bad if bad.any() else ~figures(*found).exact

    @cached_property
    def raw(self) -> np.ndarray:
        """The outputs, in their dtype."""
        return take(self.comparison.got, self.at)

    @cached_property
    def x(self) -> np.ndarray:
        """The outputs in float64 or complex128."""
        return wide(self.raw)

    @cached_property
    def y(self) -> np.ndarray:
        """The goldens unrounded, but for those that round to Inf."""
        exact = wide(take(self.golden, self.at))
        return np.where(np.isfinite(self.rounded) | np.isnan(exact), exact, self.rounded)

    @cached_property
    def rounded(self) -> np.ndarray:
        """The goldens rounded to the output's dtype."""
        return wide(round_to(take(self.golden, self.at), self.dtype))

    @cached_property
    def error(self) -> np.ndarray:
        """|got - golden| as distances; Inf where one of them is not finite and they differ."""
        error = np.abs(self.x - self.y)
        return np.where(same(self.x, self.y), 0.0, np.where(np.isfinite(error), error, np.inf))

    @cached_property
    def ulp(self) -> np.ndarray:
        """Spacings of the output's dtype at the goldens."""
        return spacing(np.where(np.isfinite(self.rounded), np.abs(self.rounded), 0.0), part(self.dtype))

    @property
    def is_float(self) -> bool:
        return dtype_of(self.dtype).kind == "float"

    @property
    def is_integer(self) -> bool:
        return dtype_of(self.dtype).kind in ("int", "uint")

    @cached_property
    def largest(self) -> float:
        return float_format(self.dtype).largest

    @cached_property
    def finite(self) -> np.ndarray:
        """Where output and golden are both finite."""
        return np.asarray(np.isfinite(self.x) & np.isfinite(self.y))

    # --- inputs ---------------------------------------------------------------------------------------------------

    @cached_property
    def inputs_at(self) -> dict[str, np.ndarray]:
        """The inputs at the elements looked at, in their dtypes, where they broadcast to the output's shape."""
        found = {}
        for name, values in self.comparison.inputs.items():
            try:
                found[name] = take(spread(values, self.shape), self.at)
            except ValueError:
                continue
        return found

    # --- the operator again ---------------------------------------------------------------------------------------

    @cached_property
    def rerun(self) -> Rerun | None:
        """The operator's reference with something changed; None where there is none."""
        operator, call = self.comparison.operator, self.comparison.call
        if operator is None or call is None or operator.reference is None:
            return None
        return Rerun(operator, call, self.comparison.name, self.shape, self.at)

    @cached_property
    def defaults(self) -> Mapping[str, object]:
        """The operator's attributes that a case may leave out."""
        return self.comparison.operator.defaults if self.comparison.operator is not None else {}

    @cached_property
    def attributes(self) -> dict[str, Attribute]:
        return {n: a for n, a in self._arguments.items() if isinstance(a, Attribute)}

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        return {n: a for n, a in self._arguments.items() if isinstance(a, Tensor)}

    @property
    def _arguments(self) -> Mapping[str, BoundArgument]:
        return self.comparison.call.arguments if self.comparison.call is not None else {}

    def array(self, name: str) -> np.ndarray:
        """An input's view."""
        return view(self.tensors[name])

    # --- what an explanation is worth ---------------------------------------------------------------------------

    def share(self, mask: np.ndarray) -> float:
        """The part of the wrong elements that a mask over those looked at holds for."""
        return float(np.count_nonzero(mask & self.wrong)) / max(1, int(np.count_nonzero(self.wrong)))

    def explained(self, mask: np.ndarray, text: str, *, complete: bool = False) -> Explanation | None:
        """The explanation that holds for the elements of a mask, where those are nearly all of the wrong ones."""
        share = self.share(mask)
        return Explanation(text, share, complete=complete) if share >= NEARLY_ALL else None

    def alike(self, other: np.ndarray) -> np.ndarray:
        """Where an output is another value rather than the golden. Always False where those two agree."""
        with np.errstate(all="ignore"):
            off = np.abs(self.x - other)
            met = same(self.x, other)
            if not self.is_float and self.x.dtype.kind != "c":
                return np.asarray(met & (other != self.y))
            near = np.maximum(_ALIKE[part(self.dtype)] * np.abs(other), 2 * self.ulp)
            explained = np.isfinite(off) & (off <= near) & (off * NEARER <= self.error)
            told = ~((other == self.rounded) | (np.isnan(other) & np.isnan(self.y)))
        return np.asarray((met | explained) & told)

    def agrees(self, other: np.ndarray) -> bool:
        """Whether other values fit the elements that are right, too."""
        right = ~self.wrong
        if not right.any():
            return True
        bad = failing(self.raw[right], other[right], self.dtype, self.standard)
        return float(np.mean(bad)) <= 1 - NEARLY_ALL

    def all_wrong(self, share: float = 1.0) -> str:
        """``all 4,096 wrong elements``; with a share, ``97 % of the 4,096 wrong elements``. A sample is called one."""
        count = self.places.count
        if self.sampled:
            part = "all" if share == 1 else f"{percent(share)} of"
            return f"{part} {np.count_nonzero(self.wrong):,} wrong elements looked at, of {count:,}"
        if share < 1:
            return f"{percent(share)} of the {count:,} wrong elements"
        if count == 1:
            return "the wrong element"
        return "both wrong elements" if count == 2 else f"all {count:,} wrong elements"

    @property
    def all_seen(self) -> bool:
        """Whether every element of the output is looked at."""
        return len(self.at) == self.places.total

    @property
    def sampled(self) -> bool:
        """Whether there are more wrong elements than are looked at."""
        return self.places.count > len(self.places.sample)

    def index(self, place: int) -> str:
        """A flat place as an index, ``[3, 7]``; for one axis the place itself."""
        if len(self.shape) < 2:
            return f"{place:,}"
        return f"[{', '.join(str(int(i)) for i in np.unravel_index(place, self.shape))}]"
