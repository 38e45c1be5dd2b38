"""The compiled part: thin, and for this package only."""

from collections.abc import Callable
from typing import Any, Optional, final

__all__ = [
    "Found",
    "FoundFit",
    "Model",
    "__version__",
    "build",
    "chart",
    "check",
    "diff",
    "divide",
    "emit_c",
    "fit",
    "inspect",
    "load",
    "optimize",
    "optimize_many",
    "parse_size",
    "place",
    "place_model",
    "read",
    "run_command",
    "sample",
    "schedule",
    "traffic",
    "verify",
]
__version__: str

_Placed = tuple[list[int], int, int, Optional[str], float]
_Options = dict[str, Any]

@final
class Model:
    name: str
    format: str
    runtime: str
    def __len__(self) -> int: ...
    def ops(self) -> list[tuple[str, str, list[int], list[int]]]: ...
    def tensors(self) -> list[tuple[str, int, Optional[list[int]], Optional[str]]]: ...
    def inputs(self) -> list[int]: ...
    def outputs(self) -> list[int]: ...
    def bytes(self) -> bytes: ...
    def to_json(self) -> str: ...
    def peak(self, order: Optional[list[int]], target: _Options) -> int: ...

@final
class Found:
    peak: int
    bound: int
    seconds: float
    is_optimal: bool
    format: str
    def to_json(self) -> str: ...
    def plan_text(self) -> str: ...
    def before(self) -> list[int]: ...
    def steps(self) -> list[tuple[int, str, str, int, int]]: ...
    def to_bytes(self) -> Optional[bytes]: ...
    def to_graph(self) -> str: ...
    def page(self) -> str: ...
    def check_side_files(self, path: str) -> None: ...

@final
class FoundFit:
    format: str
    def to_json(self) -> str: ...
    def summary(self) -> str: ...
    def to_bytes(self) -> Optional[bytes]: ...
    def to_graph(self) -> Optional[str]: ...
    def code(self) -> Optional[list[tuple[str, str]]]: ...
    def check_side_files(self, path: str) -> None: ...

def load(source: str, reading: _Options) -> Model: ...
def read(name: str, bytes: bytes, format: Optional[str], reading: _Options) -> Model: ...
def build(
    name: str,
    tensors: list[tuple[str, int]],
    ops: list[tuple[str, str, list[int], list[int], list[tuple[int, int]], list[tuple[int, int]]]],
    inputs: list[int],
    outputs: list[int],
) -> Model: ...
def optimize(
    model: Model, wishes: _Options, hop: Optional[int], progress: Optional[Callable[..., object]]
) -> Found: ...
def schedule(model: Model, wishes: _Options, progress: Optional[Callable[..., object]]) -> Found: ...
def optimize_many(
    models: list[Model], wishes: _Options, workers: int, progress: Optional[Callable[[int], object]]
) -> list[Any]: ...
def fit(
    model: Model,
    wishes: _Options,
    budget_typed: str,
    reading: _Options,
    allow: list[str],
    forbid: list[str],
    hop: Optional[int],
    progress: Optional[Callable[[int, float], object]],
) -> FoundFit: ...

@final
class Oracle:
    def __init__(self) -> None: ...
    def peak(self, model: Model, target: _Options, patience: _Options) -> tuple[int, int, bool]: ...

def inspect(model: Model, target: _Options, budget: Optional[int], patience: _Options) -> tuple[str, int]: ...
def diff(
    old: Model, new: Model, target: _Options, budget: Optional[int], max_growth: tuple[Optional[int], Optional[float]]
) -> str: ...
def sample(
    model: Model, count: Optional[int], seed: int, target: _Options, budget: Optional[int], patience: _Options
) -> str: ...
def emit_c(
    model: Model,
    name: Optional[str],
    stream: Optional[str],
    hop: Optional[int],
    wishes: _Options,
    progress: Optional[Callable[..., object]],
) -> tuple[str, list[tuple[str, str]]]: ...
def place(
    buffers: list[tuple[int, int, int, Optional[int]]],
    overlaps: list[tuple[int, int]],
    align: int,
    planner: str,
    capacity: Optional[int],
    patience: _Options,
) -> _Placed: ...
def place_model(
    model: Model,
    order: Optional[list[int]],
    target: _Options,
    align: Optional[int],
    planner: str,
    capacity: Optional[int],
    patience: _Options,
) -> tuple[list[tuple[str, list[int], int, int, int]], _Placed]: ...
def divide(
    buffers: list[tuple[int, int, int, Optional[int]]],
    traffic: list[tuple[int, int]],
    memories: tuple[tuple[str, int], tuple[str, int]],
    align: int,
    patience: _Options,
) -> tuple[list[tuple[int, int]], list[int], int, int, Optional[str]]: ...
def traffic(
    model: Model,
    on_chip: list[int],
    target: _Options,
    grain: str,
    objective: str,
    patience: _Options,
    progress: Optional[Callable[..., object]],
) -> str: ...
def verify(a: str, b: str, runs: int, seed: int, engine: Optional[str], python: str) -> str: ...
def check(plan: str, model: Model, deep: bool, time_limit: float, memory_limit: int) -> str: ...
def chart(title: str, before: list[int], after: list[int], budget: Optional[int]) -> str: ...
def parse_size(text: str) -> int: ...
def run_command(args: list[str]) -> int: ...
