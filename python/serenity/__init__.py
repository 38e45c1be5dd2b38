"""Run a neural network in the least memory.

:func:`load` reads a model: a ``.tflite`` or ``.onnx`` file, a JSON graph or a built-in network. :meth:`Graph.from_ops` and :meth:`Graph.from_networkx` make a graph. :func:`optimize` returns a model that
needs less memory, and a proof of how good it is.

>>> import serenity
>>> best = serenity.optimize("zoo:swiftnet-a")
>>> best.before.peak, best.peak, best.proof
(213248, 150528, 'optimal')

:func:`fit` lists all ways to run a model in the memory of a device, and :func:`emit_c` makes C code of it. :func:`inspect` shows what a model needs as it is, :func:`diff` what changed between two models, and :func:`sample` what random orders need.

:func:`optimize_many` optimises thousands of graphs on all cores, ``serenity.ray`` on a cluster; :func:`to_pandas` makes a table of the results. :func:`schedule` orders and :func:`place` places, each alone; :func:`divide` divides among two memories.
An :class:`Oracle` tells an architecture search the least peaks of graphs that resemble each other.
``serenity.executorch`` plans the memory of ExecuTorch programs, ``serenity.fx`` orders graphs of PyTorch; both are imported by name only, because they need PyTorch.
"""

from ._code import Code, emit_c
from ._errors import BudgetError, Error, FileError, InputError, InternalError, MissingFileError, RuntimeFailure
from ._extras import Traffic, Verdict, Verification, check, traffic, verify
from ._fit import Fit, Way, fit
from ._graph import Graph, NewOp, Op, Tensor
from ._load import load
from ._look import AliveBuffer, Inspection, LargestOp, Sample, diff, inspect, sample
from ._optimize import optimize, optimize_many, schedule
from ._oracle import LeastPeak, Oracle
from ._place import Buffer, Division, PlacedBuffer, Placement, divide, place
from ._result import Footprint, Result, Step, to_pandas
from ._serenity import __version__

__all__ = [
    "AliveBuffer",
    "BudgetError",
    "Buffer",
    "Code",
    "Division",
    "Error",
    "FileError",
    "Fit",
    "Footprint",
    "Graph",
    "InputError",
    "Inspection",
    "InternalError",
    "LargestOp",
    "LeastPeak",
    "MissingFileError",
    "NewOp",
    "Op",
    "Oracle",
    "PlacedBuffer",
    "Placement",
    "Result",
    "RuntimeFailure",
    "Sample",
    "Step",
    "Tensor",
    "Traffic",
    "Verdict",
    "Verification",
    "Way",
    "__version__",
    "check",
    "diff",
    "divide",
    "emit_c",
    "fit",
    "inspect",
    "load",
    "optimize",
    "optimize_many",
    "place",
    "sample",
    "schedule",
    "to_pandas",
    "traffic",
    "verify",
]
