"""Every suite of every operator with a reference, product by product: what the host says of each case.

    python benchmarks/suites.py [--operators N] [--elements N] [--seed N]

Nothing may be FAIL or ERROR: the host result passes its golden, and a case that the contract refuses says so. A case
whose result nobody has defined is SKIP. All operators take about 50 minutes of one core with 256 elements a tensor.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ascend_opcli.casefile.new.text import Suite, new_file
from ascend_opcli.casefile.open import load_text
from ascend_opcli.errors import UsageError
from ascend_opcli.execution.host_check import host_failure
from ascend_opcli.execution.runner import Settings, run_cases
from ascend_opcli.model import Result
from ascend_opcli.operators.catalog import operators
from ascend_opcli.operators.operator import Operator
from ascend_opcli.verification.standards.choice import check_for


def judged(operator: Operator, product: str, suite: Suite, elements: int) -> Iterator[Result]:
    """The results of one suite; none where no ordinary call of the operator can be made on the product."""
    try:
        text = new_file(
            operator, suite, product=product, max_elements=elements, pairs=True, failure=host_failure
        )
    except UsageError:
        return
    cases = load_text(text, "new.yaml", check_standard=check_for).cases
    yield from run_cases(cases, Settings(product=product))


def draw(count: int | None, seed: int) -> Iterable[Operator]:
    """So many operators with a reference, all of them for None."""
    known = sorted((o for o in operators().values() if o.reference is not None), key=lambda o: o.name)
    return known if count is None else random.Random(seed).sample(known, count)


def main() -> None:
    """Prints every case that fails, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, help="so many, drawn by the seed; all by default")
    parser.add_argument("--elements", type=int, default=256, help="elements of the largest tensor (256)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    words: Counter[str] = Counter()
    for operator in draw(options.operators, options.seed):
        for product in (p for p in operator.products if operator.supports(p)):
            for suite in Suite:
                for result in judged(operator, product, suite, options.elements):
                    words[result.verdict.word.value] += 1
                    if result.verdict.word.value in ("FAIL", "ERROR"):
                        print(
                            operator.name, product, result.verdict.reason, result.repro, sep="  ", flush=True
                        )
    print(", ".join(f"{count} {word}" for word, count in words.most_common()))


if __name__ == "__main__":
    main()
