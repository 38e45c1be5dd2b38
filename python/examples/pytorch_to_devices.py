"""A PyTorch model for two runtimes: exported to ONNX and to ExecuTorch, optimised, run, and compared.

    python pytorch_to_devices.py [FOLDER]

Needs torch, onnx, onnxruntime and executorch; what is missing is left out and said so.
"""

import pathlib
import sys

import torch
from torch import nn

import serenity


class Branches(nn.Module):
    """Four branches that widen before they narrow, joined at the end: in which order they run decides how much is alive at once."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.wide = nn.ModuleList(nn.Conv2d(16, 64, 3, padding=1) for _ in range(4))
        self.narrow = nn.ModuleList(nn.Conv2d(64, 8, 1) for _ in range(4))
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        wide = [torch.relu(layer(x)) for layer in self.wide]
        return self.head(torch.cat([layer(w) for layer, w in zip(self.narrow, wide)], 1).mean((2, 3)))


def to_onnx(model: nn.Module, example: torch.Tensor, folder: pathlib.Path) -> None:
    try:
        import onnxruntime
    except ImportError as missing:
        print(f"ONNX: left out, {missing}")
        return
    path = folder / "model.onnx"
    torch.onnx.export(model, (example,), str(path), input_names=["x"], dynamo=False)
    best = serenity.optimize(path, ort_session="plain")
    print(best.summary())
    best.save(folder / "smaller.onnx")
    same = serenity.verify(path, folder / "smaller.onnx")
    print(f"ONNX: the same to the last bit: {same.equal}")
    options = onnxruntime.SessionOptions()
    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
    session = onnxruntime.InferenceSession(str(folder / "smaller.onnx"), options, providers=["CPUExecutionProvider"])
    difference = abs(session.run(None, {"x": example.numpy()})[0] - model(example).detach().numpy()).max()
    print(f"ONNX: within {difference:.1e} of PyTorch")


def to_executorch(model: nn.Module, example: torch.Tensor, folder: pathlib.Path) -> None:
    try:
        from executorch.exir import ExecutorchBackendConfig, to_edge
        from executorch.runtime import Runtime
    except ImportError as missing:
        print(f"ExecuTorch: left out, {missing}")
        return
    from serenity.executorch import MemoryPlanning

    planning = MemoryPlanning()
    with torch.no_grad():
        edge = to_edge(torch.export.export(model, (example,)))
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    print(f"ExecuTorch: {planning.summary()}")
    (folder / "model.pte").write_bytes(program.buffer)
    method = Runtime.get().load_program(folder / "model.pte").load_method("forward")
    difference = (method.execute([example])[0] - model(example)).abs().max().item()
    print(f"ExecuTorch: within {difference:.1e} of PyTorch")


def main() -> None:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    model, example = Branches().eval(), torch.randn(1, 3, 64, 64)
    to_onnx(model, example, folder)
    to_executorch(model, example, folder)


if __name__ == "__main__":
    main()
