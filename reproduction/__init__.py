"""The paper's experiments: declared, run into tables, drawn from the tables.

>>> find(["ages-example"])[0].citations
['Figure 1 (fig:geometric_on_ages)']
"""

from reproduction.catalogue import EXPERIMENTS, find
from reproduction.cells import Contender
from reproduction.claims import Claim, Ruling
from reproduction.declarations import Binomial, Blur, Bundled, EvenOver, Source, levels
from reproduction.experiments import Comparison, Computation, Experiment, Picture, Setting, cross
from reproduction.folder import Folder, Run
from reproduction.runner import QUICK_REPEATS, Watcher, reproduce
from reproduction.table import Table

__all__ = [
    "EXPERIMENTS",
    "QUICK_REPEATS",
    "Binomial",
    "Blur",
    "Bundled",
    "Claim",
    "Comparison",
    "Computation",
    "Contender",
    "EvenOver",
    "Experiment",
    "Folder",
    "Picture",
    "Ruling",
    "Run",
    "Setting",
    "Source",
    "Table",
    "Watcher",
    "cross",
    "find",
    "levels",
    "reproduce",
]
