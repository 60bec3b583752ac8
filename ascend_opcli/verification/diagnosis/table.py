"""The rules, the more specific ones first. Of those that explain as much, the first one is said."""

from __future__ import annotations

from collections.abc import Callable

from ascend_opcli.verification.diagnosis import formula, inputs, memory, places, rounding, special, values
from ascend_opcli.verification.diagnosis.evidence import Evidence
from ascend_opcli.verification.diagnosis.finding import Finding

Rule = Callable[[Evidence], "Finding | None"]

WHAT: tuple[Rule, ...] = (
    rounding.finer_than_rounding,
    memory.not_written,
    memory.poison_bytes,
    memory.onto_poison,
    values.no_bool,
    formula.attribute_ignored,
    formula.strides_ignored,
    special.nan_lost,
    special.inf_lost,
    special.inf_flipped,
    special.nan_appears,
    special.inf_appears,
    special.flushed,
    special.sign_of_zero,
    special.wrapped_integer,
    special.saturated_integer,
    rounding.other_rounding,
    values.constant,
    values.equals_input,
    formula.attribute_misread,
    formula.transposed_input,
    formula.other_axis,
    memory.transposed_output,
    memory.moved,
    values.scaled,
    values.offset,
    formula.input_ignored,
    formula.inputs_swapped,
    formula.special_of_input,
    memory.earlier_call,
    rounding.rounded_through,
    rounding.narrow_compute,
    rounding.bits_lost,
    rounding.ulps_off,
    values.one_value,
    rounding.narrow_noise,
)
"""What stands there instead of the golden."""

AT_LEAST: tuple[Rule, ...] = (rounding.ulp_noise,)
"""A fact about the errors where none of those explains even most of them."""

WHERE: tuple[Rule, ...] = (
    inputs.input_value,
    inputs.branch,
    places.one_stretch,
    places.one_index,
    places.period,
    inputs.input_range,
    places.single,
    places.from_on,
)
"""Which elements are wrong."""

BY_INPUT: tuple[Rule, ...] = (inputs.input_value, inputs.branch)
"""Those that say more than the kind of the goldens."""
