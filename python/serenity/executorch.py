"""Memory planning for ExecuTorch: order, places and in-place work decided together.

``MemoryPlanning`` takes the place of ExecuTorch's own ``MemoryPlanningPass``::

    from executorch.exir import ExecutorchBackendConfig
    import serenity.executorch

    planning = serenity.executorch.MemoryPlanning(budget="256KB")
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    print(planning.summary())

Needs ExecuTorch and PyTorch.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from . import _options
from ._errors import BudgetError, extra
from ._graph import Graph
from ._optimize import optimize
from ._place import Division, Placement, divide, place
from ._result import Result
from ._steps import Steps

with extra("executorch"):
    import torch
    from executorch.exir import memory
    from executorch.exir.memory_planning import (
        MemoryAlgoResult,
        MemoryPlanningAlgorithmSuite,
        SpecAllocResult,
        Verifier,
        collect_specs_from_nodes,
        get_cond_nodes,
        get_map_nodes,
        get_node_tensor_specs,
        get_scan_nodes,
        get_while_nodes,
        greedy,
        update_all_tensors_lifetime,
    )
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.exir.tensor import TensorSpec
    from torch.export.exported_program import ExportGraphSignature
    from torch.fx import GraphModule, Node

    from ._relink import dependencies, relink

#: Operators whose portable and optimised kernels compute element i of the result from element i of their operands, so that the result may be written over an operand of the same shape and type.
ELEMENT_WISE = frozenset(
    "abs add ceil clamp cos div elu erf exp floor gelu hardsigmoid hardswish hardtanh leaky_relu log logit maximum minimum mul neg "
    "_native_batch_norm_legit_no_training pow reciprocal relu round rsqrt sigmoid sign silu sin sqrt sub tanh trunc".split()
)


@dataclass(frozen=True)
class Plan:
    """What was decided for one method: bytes as ExecuTorch's greedy planner would have them and as they are, and what is proved.

    No order, no places and no in-place work need less than ``bound``. No order and no places need less than ``order_bound``, with the in-place work that every order allows: what that leaves out is a result that is
    written over an operand which several nodes read, and which only some orders make the last. ``seconds`` is what that took, without ExecuTorch's own lifetimes and checks.
    """

    greedy: int
    planned: int
    bound: int
    order_bound: int
    ops: int
    moved: bool
    in_place: int
    seconds: float
    #: With two memories: the bytes used of each, by name.
    used: dict[str, int] = field(default_factory=dict)
    #: With two memories: bytes that a run reads and writes in the slow one, the least that any division moves there for this order, and as much as it would be if all lay there.
    slow_bytes: int = 0
    slow_bound: int = 0
    all_slow: int = 0

    @property
    def is_optimal(self) -> bool:
        """Is it proved that nothing needs less?"""
        return self.planned <= self.bound

    @property
    def is_order_optimal(self) -> bool:
        """Is it proved that no order and no places need less, with the in-place work that every order allows?"""
        return self.planned <= self.order_bound


class MemoryPlanning(MemoryPlanningPass):
    """Plans the memory of ExecuTorch programs; never needs more than the greedy planner.

    The nodes are put into the order of least memory, an element-wise result takes the place of an operand that is not needed any more, and the tensors are placed exactly. What views and mutated buffers
    rely on keeps its order. ExecuTorch's own ``Verifier`` checks every plan, and so does Serenity's checker.

    :param inplace: ``True`` for the operators of :data:`ELEMENT_WISE`, a collection of names such as ``{"relu", "add"}`` for others, ``False`` for none
    :param budget: bytes or text such as ``"256KB"``: an export that needs more fails with :class:`serenity.BudgetError`, which says what is missing
    :param memories: two memories with their sizes, the fast one first, as in ``{"sram": "256KB", "psram": "8MB"}``: tensors are divided so that few bytes are moved in the slow one. The fast one is
        ExecuTorch's buffer 1 (``mem_id``), the slow one buffer 2
    :param reorder: ``False`` keeps the order of the nodes
    :param time_limit: seconds after which a search returns the best so far
    :param options: as for ExecuTorch's ``MemoryPlanningPass``

    ``plans`` holds a :class:`Plan` for each method that was planned.
    """

    def __init__(
        self,
        inplace: Union[bool, Collection[str]] = True,
        budget: Optional[_options.Size] = None,
        *,
        memories: Optional[Mapping[str, _options.Size]] = None,
        reorder: bool = True,
        time_limit: float = 60.0,
        **options: Any,
    ):
        """Say what may be done."""
        if memories is not None and len(memories) != 2:
            raise ValueError(f"memories are two, the fast one first, not {len(memories)}")
        if "memory_planning_algo" in options:
            raise TypeError(
                "memory_planning_algo is what MemoryPlanning replaces; use MemoryPlanningPass for another one"
            )
        algorithms = [self._place, greedy] if memories is None else [self._divide]
        super().__init__(memory_planning_algo=MemoryPlanningAlgorithmSuite(algorithms), **options)
        self.inplace = frozenset(inplace) if not isinstance(inplace, bool) else ELEMENT_WISE if inplace else frozenset()
        self.budget = None if budget is None else _options.size(budget, "budget")
        self.memories = memories and {name: _options.size(size, name) for name, size in memories.items()}
        self.reorder = reorder
        self.time_limit = time_limit
        self.plans: list[Plan] = []
        self._division: Optional[Division] = None
        self._all_slow = 0
        self._seconds = 0.0
        self._has_specs: Optional[GraphModule] = None

    def summary(self) -> str:
        """What was gained, for people."""
        lines = []
        for plan in self.plans:
            proof = "proved optimal" if plan.is_optimal else f"nothing needs less than {plan.bound:,}"
            if plan.is_order_optimal and not plan.is_optimal:
                proof = f"order and places proved, with other in-place work {proof}"
            lines.append(
                f"{plan.ops} ops: {plan.planned:,} bytes, greedy {plan.greedy:,}; {plan.in_place} in place; {proof}"
            )
            if plan.used:
                slow = list(plan.used)[1]
                each = ", ".join(f"{name} {used:,}" for name, used in plan.used.items())
                least = (
                    "no division moves fewer" if plan.slow_bytes <= plan.slow_bound else f"at least {plan.slow_bound:,}"
                )
                lines.append(f"  {each}; moved in {slow}: {plan.slow_bytes:,} of {plan.all_slow:,} bytes, {least}")
        return "\n".join(lines)

    def run(self, graph_module: GraphModule, graph_signature: Optional[ExportGraphSignature] = None) -> Any:
        """Plan a method; called by ExecuTorch."""
        self._seconds, self._division = 0.0, None
        self._set_alloc_node_spec(graph_module)
        self._has_specs = graph_module
        specs = self._planned(graph_module, graph_signature)
        before = sum(greedy(self.alignment, specs, graph_module, graph_signature, 0).bufsizes)
        begin = time.monotonic()
        arrangement = _Arrangement(self, graph_module, graph_signature, specs)
        best = arrangement.best() if self._may_reorder(graph_module, specs) else None
        if best is not None and best.height < before:
            best.apply()
        else:
            best = None
        self._seconds += time.monotonic() - begin
        result = super().run(graph_module, graph_signature)
        Verifier(
            graph_module,
            self.alloc_graph_input,
            self.alloc_graph_output,
            self.alloc_mutable_buffers and not self.share_mutable_buffers,
            graph_signature,
        ).verify_storage_reuse()
        planned = sum(graph_module.meta["non_const_buffer_sizes"])
        self.plans.append(
            Plan(
                greedy=before,
                planned=planned,
                bound=min(arrangement.bound, planned),
                order_bound=min(max(arrangement.order_bound, arrangement.bound), planned),
                ops=len(arrangement.groups),
                moved=best is not None and best.moved,
                in_place=0 if best is None else len(best.in_place),
                seconds=self._seconds,
                used=dict(self._division.used) if self._division else {},
                slow_bytes=self._division.moved if self._division else 0,
                slow_bound=self._division.bound if self._division else 0,
                all_slow=self._all_slow,
            )
        )
        if self.budget is not None and planned > self.budget:
            raise _over_budget(self.plans[-1], self.budget)
        return result

    def _set_alloc_node_spec(self, graph_module: GraphModule) -> None:
        # Once is enough, and twice is refused.
        if self._has_specs is not graph_module:
            super()._set_alloc_node_spec(graph_module)

    def _planned(self, graph_module: GraphModule, signature: Optional[ExportGraphSignature]) -> list[TensorSpec]:
        """The tensors that get a place, with the lifetimes that they have now."""
        for spec in update_all_tensors_lifetime(graph_module, signature):
            spec.realign(self.alignment)
        return list(
            collect_specs_from_nodes(
                graph_module.graph.nodes,
                signature,
                do_assertion=False,
                ignore_graph_input=not self.alloc_graph_input,
                ignore_graph_output=not self.alloc_graph_output,
                ignore_mutable_buffers=not (self.alloc_mutable_buffers and not self.share_mutable_buffers),
            )
        )

    def _may_reorder(self, graph_module: GraphModule, specs: list[TensorSpec]) -> bool:
        """Only where there is one memory, and where no node runs a graph of its own: the rest is placed as it stands."""
        controls = (get_cond_nodes, get_while_nodes, get_map_nodes, get_scan_nodes)
        memories = {(spec.mem_id, spec.device, spec.device_index) for spec in specs}
        return len(memories) <= 1 and not any(True for nodes in controls for _ in nodes(graph_module))

    def _place(
        self,
        alignment: int,
        specs: Collection[TensorSpec],
        graph_module: GraphModule,
        graph_signature: Optional[ExportGraphSignature],
        extra_padding: int = 0,
    ) -> MemoryAlgoResult:
        """Place the tensors of every memory exactly, those that lie in others with them."""
        begin = time.monotonic()
        result, sizes = MemoryAlgoResult({}, []), [0, 0]
        reserved = getattr(graph_module, "input_mem_buffer_sizes", None) or []
        for mem_id in sorted({spec.mem_id or 1 for spec in specs}):
            pool = [spec for spec in specs if (spec.mem_id or 1) == mem_id]
            for spec in pool:
                spec.realign(alignment)
            roots = [spec for spec in pool if spec.storage_base is None]
            placed = place(
                [(spec.allocated_memory, spec.lifetime[0], spec.lifetime[1] + 1) for spec in roots],
                align=alignment,
                time_limit=self.time_limit,
            )
            start = reserved[mem_id] if mem_id < len(reserved) else 0
            offsets = {spec: start + offset for spec, offset in zip(roots, placed.offsets)}
            for spec in pool:
                base, inside = _root(spec)
                result.spec_dict[spec] = SpecAllocResult(mem_id, 0, offsets[base] + inside)
            sizes += [0] * (mem_id + 1 - len(sizes))
            sizes[mem_id] = start + placed.height + extra_padding
        result.bufsizes = sizes
        self._seconds += time.monotonic() - begin
        return result

    def _divide(
        self,
        alignment: int,
        specs: Collection[TensorSpec],
        graph_module: GraphModule,
        graph_signature: Optional[ExportGraphSignature],
        extra_padding: int = 0,
    ) -> MemoryAlgoResult:
        """Place the tensors in two memories, so that few bytes are moved in the second."""
        begin = time.monotonic()
        if any((spec.mem_id or 1) != 1 for spec in specs):
            raise ValueError("the program says for some tensors where they lie (mem_id): leave out memories, or that")
        for spec in specs:
            spec.realign(alignment)
        roots = {spec: index for index, spec in enumerate(spec for spec in specs if spec.storage_base is None)}
        traffic = [(0, 0) for _ in roots]
        for spec, read, written in _touched(graph_module):
            index = roots.get(_root(spec)[0])
            if index is not None:
                traffic[index] = (traffic[index][0] + read, traffic[index][1] + written)
        assert self.memories is not None
        reserved = getattr(graph_module, "input_mem_buffer_sizes", None) or []
        starts = {name: reserved[i] if i < len(reserved) else 0 for i, name in enumerate(self.memories, 1)}
        sizes = {name: max(size - extra_padding - starts[name], 0) for name, size in self.memories.items()}
        self._division = division = divide(
            [(spec.allocated_memory, spec.lifetime[0], spec.lifetime[1] + 1) for spec in roots],
            sizes,
            traffic=traffic,
            align=alignment,
            time_limit=self.time_limit,
        )
        self._all_slow = sum(read + written for read, written in traffic)
        ids = {name: index for index, name in enumerate(self.memories, 1)}
        ends = [starts[name] + used + extra_padding for name, used in division.used.items()]
        result = MemoryAlgoResult({}, [0, *ends])
        for spec in specs:
            base, inside = _root(spec)
            index = roots[base]
            name = division.memories[index]
            offset = starts[name] + division.offsets[index] + inside
            result.spec_dict[spec] = SpecAllocResult(ids[name], 0, offset)
        self._seconds += time.monotonic() - begin
        return result


def _root(spec: TensorSpec) -> tuple[TensorSpec, int]:
    """The tensor whose memory this one lies in, and where in it."""
    inside = 0
    while spec.storage_base is not None:
        spec, inside = spec.storage_base, inside + spec.storage_base_offset
    return spec, inside


def _touched(module: GraphModule) -> Iterator[tuple[TensorSpec, int, int]]:
    """Each tensor that a node reads or writes, with the bytes read and written there. Views and allocations touch nothing."""
    for node in module.graph.nodes:
        if node.op != "call_function" or node.target in (memory.alloc, memory.view, operator.getitem):
            continue
        sources = [other for other in dependencies(node) if other.target is not memory.alloc]
        for spec in dict.fromkeys(spec for other in sources for spec in get_node_tensor_specs(other)):
            yield spec, spec.allocated_memory, 0
        for spec in get_node_tensor_specs(node):
            yield spec, 0, spec.allocated_memory


def _over_budget(plan: Plan, budget: int) -> BudgetError:
    missing = plan.planned - budget
    no_way = plan.bound > budget
    error = BudgetError(
        f"the program needs {plan.planned:,} bytes of planned memory, {missing:,} more than the budget of {budget:,}",
        "room",
        f"no order and no places need less than {plan.bound:,}: make the model smaller, or raise the budget"
        if no_way
        else "raise the time limit, or the budget",
    )
    error.needed, error.missing = plan.planned, missing
    return error


@dataclass
class _Choice:
    """An order of the steps, and where it puts the tensors."""

    owner: _Arrangement
    order: list[int]
    placement: Placement

    @property
    def height(self) -> int:
        return self.placement.height

    @property
    def moved(self) -> bool:
        return self.order != sorted(self.order)

    @property
    def in_place(self) -> list[tuple[TensorSpec, TensorSpec]]:
        """Pairs (result, operand) of which the one takes the place of the other."""
        offsets = {piece: offset for piece, offset in self.owner.offsets(self.placement).items()}
        pairs: dict[TensorSpec, TensorSpec] = {}
        taken: set[TensorSpec] = set()
        position = {step: index for index, step in enumerate(self.order)}
        for step, (new, old) in self.owner.in_place:
            is_last = all(position[reader] <= position[step] for reader in self.owner.readers[old])
            if is_last and offsets[new] == offsets[old] and new not in pairs and old not in taken:
                pairs[new] = old
                taken.add(old)
        return list(pairs.items())

    def apply(self) -> None:
        """Move the nodes, and let results take the places of operands."""
        for new, old in self.in_place:
            new.storage_base, new.storage_base_offset = old, 0
        nodes = list(self.owner.module.graph.nodes)
        moved = {node for group in self.owner.groups for node in group}
        front = [node for node in nodes if node not in moved and node.op != "output"]
        last = [node for node in nodes if node.op == "output"]
        relink(self.owner.module, [*front, *(node for step in self.order for node in self.owner.groups[step]), *last])
        for spec in self.owner.all_specs:
            spec.lifetime = [None, None]


class _Arrangement:
    """The nodes of a method as steps: an allocation runs just before the operator that writes into it, picking one of several results just after."""

    def __init__(
        self,
        planning: MemoryPlanning,
        module: GraphModule,
        signature: Optional[ExportGraphSignature],
        planned: Collection[TensorSpec],
    ):
        self.planning, self.module = planning, module
        self.planned = set(planned)
        self.steps = Steps()
        self.groups: list[list[Node]] = []
        self.in_place: list[tuple[int, tuple[TensorSpec, TensorSpec]]] = []
        self.readers: dict[TensorSpec, list[int]] = {}
        self.all_specs: set[TensorSpec] = set()
        self.bound = self.order_bound = 0
        self._wanted: list[TensorSpec] = []
        self._step_of: dict[Node, int] = {}
        kept = set(signature.buffers_to_mutate.values()) if signature is not None else set()
        for node in module.graph.nodes:
            self._add(node, signature, kept)

    def _specs(self, node: Node) -> list[TensorSpec]:
        return [spec for spec in get_node_tensor_specs(node) if not spec.const]

    def _bytes(self, spec: TensorSpec) -> int:
        return spec.allocated_memory if spec in self.planned else 0

    def _add(self, node: Node, signature: Optional[ExportGraphSignature], kept: set[str]) -> None:
        self.all_specs.update(get_node_tensor_specs(node))
        if node.op == "placeholder":
            is_mutable = signature is not None and signature.inputs_to_buffers.get(str(node.target)) in kept
            for spec in self._specs(node):
                self.steps.provide(spec, self._bytes(spec))
                # Buffers that are written hold their values between two runs.
                self._wanted += [spec] if is_mutable else []
        elif node.op == "output":
            self._wanted += [spec for spec in self._specs(node) if spec in self.steps]
            self._wanted += [spec for other in dependencies(node) for spec in self._specs(other) if spec in self.steps]
        elif node.op == "get_attr" or node.target is memory.alloc:
            return
        elif node.target is operator.getitem and node.args[0] in self._step_of:
            self._step_of[node] = self._step_of[node.args[0]]
            self.groups[self._step_of[node]].append(node)
        else:
            self._add_step(node)

    def _add_step(self, node: Node) -> None:
        before = dependencies(node)
        allocations = [other for other in before if other.target is memory.alloc]
        sources = [other for other in before if other.target is not memory.alloc]
        reads = list(dict.fromkeys(spec for other in sources for spec in self._specs(other) if spec in self.steps))
        mine = list(dict.fromkeys(spec for other in [*allocations, node] for spec in self._specs(other)))
        creates = [spec for spec in mine if spec not in self.steps]
        # What is there already and is written by this node: a buffer that changes, or an operand of an in-place operator.
        is_view = node.target is memory.view
        changes = [] if is_view else [spec for spec in mine if spec in self.steps]
        changes += [spec for spec in self._changed(node) if spec in self.steps]
        pairs = [pair for pair in self._pairs(node) if pair[0] in creates and pair[1] in reads]
        step = self.steps.step(
            node.name,
            str(node.target),
            reads=reads,
            creates=[(spec, self._bytes(spec)) for spec in creates],
            changes=changes,
            after=[self._step_of[other] for other in sources if other in self._step_of],
            in_place=pairs,
        )
        self.groups.append([*allocations, node])
        self._step_of.update(dict.fromkeys([*allocations, node], step))
        self.in_place += [(step, pair) for pair in pairs]
        for spec in reads:
            self.readers.setdefault(spec, []).append(step)

    def _changed(self, node: Node) -> list[TensorSpec]:
        """Arguments that are written though they are no allocations of their own."""
        schema = getattr(node.target, "_schema", None)
        changed = []
        for index, argument in enumerate(schema.arguments if schema else ()):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
                if isinstance(given, Node) and given.target is not memory.alloc:
                    changed += self._specs(given)
        return changed

    def _pairs(self, node: Node) -> list[tuple[TensorSpec, TensorSpec]]:
        """Results that may take the place of an operand."""
        target = node.target
        if (
            not isinstance(target, torch._ops.OpOverload)
            or target._schema.name.split("::")[-1] not in self.planning.inplace
        ):
            return []
        results = get_node_tensor_specs(node)
        if not results or results[0] not in self.planned:
            return []
        new, pairs = results[0], []
        for operand in node.args:
            # Inputs belong to the caller, and a view has another shape than what it is a view of.
            if not isinstance(operand, Node) or operand.op == "placeholder" or operand.target is memory.view:
                continue
            for old in self._specs(operand)[:1]:
                same = (old.shape, old.dtype, old.dim_order) == (new.shape, new.dtype, new.dim_order)
                if (
                    same
                    and old in self.planned
                    and old.allocated_memory == new.allocated_memory
                    and old.storage_base is None
                ):
                    pairs.append((new, old))
        return pairs

    def offsets(self, placement: Placement) -> dict[TensorSpec, int]:
        """Where a placement puts each tensor."""
        pieces = self.steps.piece_of()
        return {pieces[tensor]: offset for tensor, offset in placement.by_tensor.items() if pieces[tensor] is not None}  # type: ignore[misc]

    def best(self) -> Optional[_Choice]:
        """The order and the places that need least: of the nodes' own order, and of those found with the in-place work that each order allows, and with none."""
        graph = self.steps.graph(self._wanted, "program")
        together = self._optimize(graph)
        self.bound = together.bound
        best: Optional[_Choice] = None
        for order in [*([together.order] if self.planning.reorder else []), list(range(len(self.groups)))]:
            best = self._better(graph, order, best)
        if best is None or best.height <= self.bound:
            return best
        if self.planning.reorder:
            pairs = [pair for _, pair in self.in_place]
            without = self._optimize(self.steps.graph(self._wanted, "program", pairs)).order
            best = self._better(graph, without, best)
        if best is not None and best.height > self.bound:
            certain = self.steps.graph(self._wanted, "program", self._uncertain())
            self.order_bound = self._optimize(certain).bound
        return best

    def _optimize(self, graph: Graph) -> Result:
        return optimize(graph, runtime="plain", rewrite="none", time_limit=self.planning.time_limit)

    def _uncertain(self) -> list[tuple[TensorSpec, TensorSpec]]:
        """Pairs of which the order decides whether the one may take the place of the other: several steps read that."""
        return [pair for _, pair in self.in_place if len(self.readers[pair[1]]) > 1]

    def _better(self, graph: Graph, order: list[int], best: Optional[_Choice]) -> Optional[_Choice]:
        if best is not None and best.height <= self.bound:
            return best
        placement = place(
            graph, order=order, runtime="plain", align=self.planning.alignment, time_limit=self.planning.time_limit
        )
        return _Choice(self, order, placement) if best is None or placement.height < best.height else best
