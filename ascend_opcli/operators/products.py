"""Products and the SoC names by which they are known."""

from __future__ import annotations

from ascend_opcli.errors import did_you_mean

DEFAULT_PRODUCT = "atlas_a2"

PRODUCTS: dict[str, str] = {
    "ascend950": "Ascend 950PR/950DT",
    "atlas_a3": "Atlas A3",
    "atlas_a2": "Atlas A2",
    "atlas_200i_500_a2": "Atlas 200I/500 A2",
    "atlas_inference": "Atlas inference (310P)",
    "atlas_training": "Atlas training (910)",
}

SOC_PRODUCTS: dict[str, str] = {
    "ascend950": "ascend950",
    "ascend910_93": "atlas_a3",
    "ascend910b": "atlas_a2",
    "ascend310b": "atlas_200i_500_a2",
    "ascend310p": "atlas_inference",
    "ascend910": "atlas_training",
}
"""SoC families as kernel registrations name them; other families belong to no product that opcli knows."""

# Longest prefix first: ascend910b1 and ascend910_9391 must not be taken for ascend910.
_SOCS = (
    ("ascend910_93", "atlas_a3"),
    ("ascend910_95", "ascend950"),
    ("ascend910b", "atlas_a2"),
    ("ascend950", "ascend950"),
    ("ascend310b", "atlas_200i_500_a2"),
    ("ascend310p", "atlas_inference"),
    ("ascend910", "atlas_training"),
)


def product(word: str) -> str:
    """The product that ``word`` means: its own name, or a SoC name such as Ascend910B1.

    Raises ValueError with the nearest right word.
    """
    folded = word.strip().casefold()
    if folded in PRODUCTS:
        return folded
    for prefix, name in _SOCS:
        if folded.startswith(prefix):
            return name
    known = list(PRODUCTS) + [prefix for prefix, _ in _SOCS]
    hint = did_you_mean(word, known, otherwise=f"; known are {', '.join(PRODUCTS)}")
    raise ValueError(f"unknown product '{word}'{hint}")
