"""What kind of wrong a failed output is, in one sentence. Imported and worked out on failure only.

A rule is a function of :class:`~ascend_opcli.verification.diagnosis.evidence.Evidence` that gives a
:class:`~ascend_opcli.verification.diagnosis.explanation.Explanation` or None. To add one, write the function in the
module of its family and put it at its place in :mod:`ascend_opcli.verification.diagnosis.table`.
"""

from ascend_opcli.verification.diagnosis.diagnose import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
