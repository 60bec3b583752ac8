"""The rules, the more specific ones first. Of those that explain as much, the first one is said."""

from __future__ import annotations

from collections.abc import Callable

from ascend_opcli.verification.diagnosis import (
    formula,
    input_conditions,
    output_memory,
    places,
    rounding,
    simple_relations,
    special_values,
)
from ascend_opcli.verification.diagnosis.evidence import Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation

Rule = Callable[[Evidence], "Explanation | None"]

WHAT: tuple[Rule, ...] = (
    rounding.finer_than_rounding,
    output_memory.not_written,
    output_memory.poison_bytes,
    output_memory.onto_poison,
    simple_relations.no_bool,
    formula.attribute_ignored,
    formula.strides_ignored,
    special_values.nan_lost,
    special_values.inf_lost,
    special_values.inf_flipped,
    special_values.nan_appears,
    special_values.inf_appears,
    special_values.flushed,
    special_values.sign_of_zero,
    special_values.wrapped_integer,
    special_values.saturated_integer,
    rounding.other_rounding,
    simple_relations.constant,
    simple_relations.equals_input,
    formula.attribute_misread,
    formula.transposed_input,
    formula.other_axis,
    output_memory.transposed_output,
    output_memory.moved,
    simple_relations.scaled,
    simple_relations.offset,
    formula.input_ignored,
    formula.inputs_swapped,
    formula.special_of_input,
    output_memory.earlier_call,
    rounding.rounded_through,
    rounding.narrow_compute,
    rounding.bits_lost,
    rounding.ulps_off,
    simple_relations.one_value,
    rounding.narrow_noise,
)
"""What stands there instead of the golden."""

AT_LEAST: tuple[Rule, ...] = (rounding.ulp_noise,)
"""A fact about the errors where none of those explains even most of them."""

WHERE: tuple[Rule, ...] = (
    input_conditions.input_value,
    input_conditions.branch,
    places.one_stretch,
    places.one_index,
    places.period,
    input_conditions.input_range,
    places.single,
    places.from_on,
)
"""Which elements are wrong."""

BY_INPUT: tuple[Rule, ...] = (input_conditions.input_value, input_conditions.branch)
"""Those that say more than the kind of the goldens."""
