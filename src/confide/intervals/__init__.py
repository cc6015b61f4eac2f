"""How sure an answer is: intervals that say what they rest on.

Two bases. The likelihood takes every answer that the reports allow, whatever the method, and assumes nothing of the
truth; it is for questions over many values. The bootstrap draws new reports and solves them again by the method itself;
it is for single values, where without a belief in smoothness almost nothing is known under strong noise. A new basis is
one class with :meth:`Basis.ends`; a method whose replicates can be solved together registers with
:func:`confide.intervals.resolving.resolve`.
"""

from confide.intervals.answers import Band, Interval, percent
from confide.intervals.bases import Basis, Bootstrap, Likelihood
from confide.intervals.inference import Inference, check_level

__all__ = ["Band", "Basis", "Bootstrap", "Inference", "Interval", "Likelihood", "check_level", "percent"]
