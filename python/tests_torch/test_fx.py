"""Orders of torch.fx graphs, forward and training."""

import pytest
import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_module

import serenity.fx


class Loss(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x, y):
        return (nn.functional.cross_entropy(self.module(x), y),)


def training_graph(module, x, rate=0.01):
    """Forward, backward and a step of SGD in one graph: every gradient is subtracted from its parameter, after which nobody needs it."""
    label = torch.zeros(len(x), dtype=torch.long)
    joint, signature = aot_export_module(Loss(module), (x, label), trace_joint=True, output_loss_index=0)
    graph = joint.graph
    [output] = [node for node in graph.nodes if node.op == "output"]
    placeholders = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    parameters = {fqn: placeholders[name] for name, fqn in signature.inputs_to_parameters.items()}
    results = list(output.args[0])
    for position, node in enumerate(results):
        fqn = None if node is None else signature.backward_signature.gradients_to_parameters.get(node.name)
        if fqn is not None:
            with graph.inserting_before(output):
                step = graph.call_function(torch.ops.aten.sub_.Tensor, (parameters[fqn], node), {"alpha": rate})
            step.meta["val"] = parameters[fqn].meta["val"]
            results[position] = step
    output.args = (tuple(results),)
    joint.recompile()
    return joint, [*signature.inputs_to_parameters, *signature.inputs_to_buffers]


def test_darts_forward(networks):
    module, x = networks("darts_4cells_32")
    with torch.no_grad():
        program = torch.export.export(module.eval(), (x,)).run_decompositions()
        expected = program.module()(x)
        best = serenity.fx.optimize(program)
        assert torch.equal(program.module()(x), expected)
    assert (best.before.peak, best.peak, best.proof) == (786_432, 655_360, "optimal")
    assert serenity.fx.optimize(program).before.peak == 655_360


def test_resnet18_with_sgd(networks):
    module, x = networks("resnet18_96")
    joint, resident = training_graph(module.train(), x)
    best = serenity.fx.optimize(joint, resident=resident)
    assert (best.before.peak, best.peak, best.proof) == (49_523_780, 13_601_796, "optimal")


def test_training_computes_the_same():
    module = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    x, y = torch.randn(5, 8), torch.zeros(5, dtype=torch.long)
    results = []
    for is_ordered in (False, True):
        joint, resident = training_graph(module, x)
        if is_ordered:
            best = serenity.fx.optimize(joint, resident=resident)
            assert best.peak < best.before.peak
        weights = [parameter.detach().clone() for parameter in module.parameters()]
        results.append(([value.clone() for value in joint(*weights, x, y) if value is not None], weights))
    for before, after in zip(*results):
        assert all(torch.equal(a, b) for a, b in zip(before, after))


class Changes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.arange(8.0))

    def forward(self, x):
        view = self.state.view(2, 4)
        before = view * 2
        self.state.add_(x)
        after = view + 1
        self.state.mul_(3)
        return before, after, self.state.clone()


def test_what_changes_in_place_keeps_its_order():
    traced = torch.fx.experimental.proxy_tensor.make_fx(Changes())(torch.ones(8))
    expected = traced(torch.full((8,), 2.0))
    fresh = torch.fx.experimental.proxy_tensor.make_fx(Changes())(torch.ones(8))
    for node in fresh.graph.nodes:
        if "val" not in node.meta and "tensor_meta" in node.meta:
            node.meta["val"] = torch.empty(node.meta["tensor_meta"].shape)
    serenity.fx.optimize(fresh)
    assert all(torch.equal(a, b) for a, b in zip(fresh(torch.full((8,), 2.0)), expected))


def test_what_is_no_graph():
    with pytest.raises(TypeError, match="expected an ExportedProgram or a GraphModule, not Linear"):
        serenity.fx.optimize(nn.Linear(2, 2))
