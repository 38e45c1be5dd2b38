"""Run a neural network in the least memory.

In comes a model (:func:`load`: a ``.tflite`` or ``.onnx`` file, a JSON graph, a built-in network) or a graph (:meth:`Graph.from_ops`, :meth:`Graph.from_networkx`). Out comes, by :func:`optimize`, a model
that needs less and a proof of how good it is.

>>> import serenity
>>> best = serenity.optimize("zoo:swiftnet-a")
>>> best.before.peak, best.peak, best.proof
(213248, 150528, 'optimal')

:func:`optimize_many` does that for thousands of graphs on all cores, ``serenity.ray`` on a cluster. :func:`schedule` orders and :func:`place` places, each alone. ``serenity.executorch`` plans the memory
of ExecuTorch programs, ``serenity.fx`` orders graphs of PyTorch; both are imported by name only, because they need PyTorch.
"""

from ._errors import BudgetError, Error, FileError, InputError, InternalError, MissingFileError, RuntimeFailure
from ._extras import Traffic, Verdict, Verification, check, traffic, verify
from ._graph import Graph, NewOp, Op, Tensor
from ._load import load
from ._optimize import optimize, optimize_many, schedule
from ._place import Buffer, PlacedBuffer, Placement, place
from ._result import Footprint, Result, Step
from ._serenity import __version__

__all__ = [
    "BudgetError",
    "Buffer",
    "Error",
    "FileError",
    "Footprint",
    "Graph",
    "InputError",
    "InternalError",
    "MissingFileError",
    "NewOp",
    "Op",
    "PlacedBuffer",
    "Placement",
    "Result",
    "RuntimeFailure",
    "Step",
    "Tensor",
    "Traffic",
    "Verdict",
    "Verification",
    "__version__",
    "check",
    "load",
    "optimize",
    "optimize_many",
    "place",
    "schedule",
    "traffic",
    "verify",
]
