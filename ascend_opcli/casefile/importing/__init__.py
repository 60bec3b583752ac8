"""Case files of other tools: ATK JSON, TTK CSV and msopst JSON, one module each.

A format's module gives :class:`~.foreign.Written` cases: a case in opcli's own grammar, or why there is none.
What the formats have in common is written once: :mod:`.positions` maps onto the signature, :mod:`.values` makes
data of ranges, :mod:`.foreign` builds the cases.
"""
