"""Programs of ExecuTorch: less memory than its own planner, proved, and the same to the last bit in its runtime."""

import copy

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.quant_fusion_pass import quant_fusion_and_const_prop_pass
from executorch.runtime import Runtime
from torch import nn
from torch.fx.experimental.optimization import fuse

import serenity
from serenity.executorch import MemoryPlanning

# The most that may be planned; all are proved.
FIGURES = [
    ("darts_4cells_32", 655_360),
    ("randwire24_32", 294_912),
    ("swift_like_64", 983_040),
    ("mobilenet_v2_0.35_96", 552_960),
    ("densenet121_64", 589_824),
    ("googlenet_96", 1_032_192),
    ("squeezenet_96", 971_776),
]


def edge_of(module, *inputs):
    with torch.no_grad():
        edge = to_edge(torch.export.export(module, inputs))
    edge._edge_programs["forward"] = quant_fusion_and_const_prop_pass(edge._edge_programs["forward"])
    return edge


def planned(edge, planning):
    config = ExecutorchBackendConfig(memory_planning_pass=planning)
    return copy.deepcopy(edge).to_executorch(config)


def bytes_of(program):
    return sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)


def outputs(program, *runs):
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    return [[value.clone() for value in method.execute(list(inputs))] for inputs in runs]


def assert_same(a, b):
    for left, right in zip(a, b):
        assert all(torch.equal(x, y) for x, y in zip(left, right))


@pytest.mark.parametrize("name, most", FIGURES)
def test_less_than_greedy_and_the_same_to_the_last_bit(networks, name, most):
    module, example = networks(name)
    edge = edge_of(fuse(module.eval()), example)
    greedy, planning = planned(edge, MemoryPlanningPass()), MemoryPlanning()
    ours = planned(edge, planning)
    [plan] = planning.plans
    print(f"{name}: {planning.summary()}, {plan.seconds:.2f} s")
    assert bytes_of(ours) == plan.planned <= most and plan.greedy == bytes_of(greedy) > plan.planned
    assert plan.is_optimal and plan.is_order_optimal
    assert_same(outputs(ours, [example]), outputs(greedy, [example]))


class Branches(nn.Module):
    """Branches that widen and narrow: the order matters, and in-place work does."""

    def __init__(self, count=4):
        super().__init__()
        self.wide = nn.ModuleList(nn.Conv2d(4, 32, 3, padding=1) for _ in range(count))
        self.narrow = nn.ModuleList(nn.Conv2d(32, 4, 1) for _ in range(count))

    def forward(self, x):
        wide = [torch.relu(layer(x)) for layer in self.wide]
        return torch.cat([torch.sigmoid(layer(w)) for layer, w in zip(self.narrow, wide)], 1)


@pytest.fixture
def branches():
    return edge_of(Branches().eval(), torch.randn(1, 4, 16, 16))


def test_order_places_and_in_place_work(branches):
    sizes = {}
    for label, options in {
        "greedy": None,
        "placed": {"inplace": False, "reorder": False},
        "ordered": {"inplace": False},
        "all": {},
        "relu": {"inplace": {"relu"}},
    }.items():
        planning = MemoryPlanningPass() if options is None else MemoryPlanning(**options)
        program = planned(branches, planning)
        sizes[label] = bytes_of(program)
        x = torch.randn(1, 4, 16, 16)
        assert_same(outputs(program, [x]), outputs(planned(branches, MemoryPlanningPass()), [x]))
    assert sizes["all"] <= sizes["relu"] <= sizes["ordered"] < sizes["placed"] <= sizes["greedy"]


def test_over_budget_fails_with_what_is_missing(branches):
    needed = bytes_of(planned(branches, MemoryPlanning()))
    assert bytes_of(planned(branches, MemoryPlanning(budget=needed))) == needed
    with pytest.raises(serenity.BudgetError, match=f"1,000 more than the budget of {needed - 1000:,}") as caught:
        planned(branches, MemoryPlanning(budget=needed - 1000))
    assert (caught.value.needed, caught.value.missing) == (needed, 1000) and "make the model smaller" in str(
        caught.value
    )


def sizes_of(program):
    return list(program.executorch_program.execution_plan[0].non_const_buffer_sizes)


def test_two_memories(branches):
    x = torch.randn(1, 4, 16, 16)
    expected = outputs(planned(branches, MemoryPlanningPass()), [x])
    moved = []
    for fast in (8_192, 40_000, 100_000, 1_000_000):
        planning = MemoryPlanning(memories={"sram": fast, "psram": "1MB"})
        program = planned(branches, planning)
        [plan] = planning.plans
        assert sizes_of(program) == [0, *plan.used.values()] and plan.used["sram"] <= fast
        assert plan.slow_bound <= plan.slow_bytes <= plan.all_slow and "moved in psram" in planning.summary()
        assert_same(outputs(program, [x]), expected)
        moved.append(plan.slow_bytes)
    # A larger fast memory never means more in the slow one, and at last nothing lies there.
    assert moved == sorted(moved, reverse=True) and moved[0] > moved[1] and moved[-1] == 0
    with pytest.raises(serenity.BudgetError, match="`sram` \\(1000 bytes\\) and `psram`"):
        planned(branches, MemoryPlanning(memories={"sram": 1000, "psram": 1000}))
    with pytest.raises(ValueError, match="memories are two"):
        MemoryPlanning(memories={"sram": 1000})


def test_two_memories_of_a_network(networks):
    module, example = networks("mobilenet_v2_0.35_96")
    edge = edge_of(fuse(module.eval()), example)
    planning = MemoryPlanning(memories={"sram": "256KB", "psram": "8MB"})
    program = planned(edge, planning)
    [plan] = planning.plans
    print(planning.summary())
    assert 0 < plan.slow_bound <= plan.slow_bytes < plan.all_slow / 2
    assert_same(outputs(program, [example]), outputs(planned(edge, MemoryPlanningPass()), [example]))


class Counter(nn.Module):
    """Reads a buffer, changes it, and reads it again, through a view too."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4, 8))

    def forward(self, x):
        before = self.seen * 2
        self.seen.add_(x)
        flat = self.seen.view(32)
        after = torch.relu(flat) + 1
        self.seen.mul_(0.5)
        return before, after, self.seen + x


def test_buffers_that_change_and_views_keep_their_order():
    edge = edge_of(Counter(), torch.ones(4, 8))
    runs = [[torch.randn(4, 8)] for _ in range(3)]
    expected, eager = [], Counter()
    for [x] in runs:
        expected.append([value.clone() for value in eager(x)])
    for planning in (MemoryPlanningPass(), MemoryPlanning()):
        assert_same(outputs(planned(edge, planning), *runs), expected)


def test_results_are_never_written_over():
    class Both(nn.Module):
        def forward(self, x):
            first = torch.relu(x + 1)
            return first, torch.sigmoid(first)

    edge, x = edge_of(Both(), torch.ones(4, 8)), torch.randn(4, 8)
    [[first, last]] = outputs(planned(edge, MemoryPlanning()), [x])
    expected = torch.relu(x + 1)
    assert torch.equal(first, expected) and torch.allclose(last, torch.sigmoid(expected))


def test_never_more_than_greedy_on_random_networks():
    class Random(nn.Module):
        def __init__(self, seed):
            super().__init__()
            generator = torch.Generator().manual_seed(seed)
            draw = lambda below: int(torch.randint(below, (1,), generator=generator))  # noqa: E731
            self.plan = [(draw(4), draw(i + 1), draw(i + 1)) for i in range(14)]
            self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in self.plan)

        def forward(self, x):
            values = [x]
            for (kind, a, b), layer in zip(self.plan, self.layers):
                left, right = values[a], values[b]
                values.append([layer(left), torch.relu(left), left + right, (left * right).reshape(1, 16)][kind])
            return sum(values[-3:])

    for seed in range(12):
        edge, planning = edge_of(Random(seed).eval(), torch.randn(1, 16)), MemoryPlanning()
        program, x = planned(edge, planning), torch.randn(1, 16)
        greedy = planned(edge, MemoryPlanningPass())
        assert bytes_of(program) <= bytes_of(greedy) == planning.plans[0].greedy, seed
        assert_same(outputs(program, [x]), outputs(greedy, [x]))


def test_inputs_and_outputs_that_the_caller_provides(branches):
    options = {"alloc_graph_input": False, "alloc_graph_output": False}
    ours, theirs = planned(branches, MemoryPlanning(**options)), planned(branches, MemoryPlanningPass(**options))
    assert bytes_of(ours) < bytes_of(theirs)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="memory_planning_algo"):
        MemoryPlanning(memory_planning_algo=None)
    with pytest.raises(ValueError, match="not a size"):
        MemoryPlanning(budget="small")
    with pytest.raises(TypeError):
        MemoryPlanning(inplace=3)
