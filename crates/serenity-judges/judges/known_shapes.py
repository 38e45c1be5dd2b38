#!/usr/bin/env python3
"""ONNX Runtime on the CPU, graph optimisation off: what it knows of shapes when it has loaded a model.

A line a model: `shapes`, by tensor between nodes, and `inputs`: each a list of sizes, names, and null where nothing is known, or null if not even their number is. It writes down
what it has inferred only if it has changed the graph, so nodes are added to a copy that it does change: a `DequantizeLinear` that two others read."""

import tempfile

import judging
import onnx
import onnxruntime

ADDED = "serenity_judge_"


def judge(path, _options, _log):
    model = onnx.load(path)
    tensors = {name for node in model.graph.node for name in node.output if name}
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(to_be_changed(model, tensors), f"{folder}/model.onnx")
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.optimized_model_filepath = f"{folder}/loaded.onnx"
        onnxruntime.InferenceSession(f"{folder}/model.onnx", settings, providers=["CPUExecutionProvider"])
        loaded = onnx.load(f"{folder}/loaded.onnx")
    known = {info.name: dims(info) for info in [*loaded.graph.value_info, *loaded.graph.output] if info.name in tensors}
    constants = {tensor.name for tensor in model.graph.initializer}
    return {"shapes": known, "inputs": {info.name: dims(info) for info in model.graph.input if info.name not in constants}}


def to_be_changed(model, tensors):
    graph, helper = model.graph, onnx.helper
    for name in tensors - {info.name for info in [*graph.value_info, *graph.output]}:
        graph.value_info.add().name = name
    versions = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    domain = "" if versions.get("ai.onnx", 1) >= 10 else "com.microsoft"
    if domain and domain not in versions:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    types = {"x": (onnx.TensorProto.UINT8, [1]), "scale": (onnx.TensorProto.FLOAT, []), "zero": (onnx.TensorProto.UINT8, [])}
    for name, (kind, shape) in types.items():
        graph.initializer.append(helper.make_tensor(ADDED + name, kind, shape, [1]))
        if model.ir_version < 4:
            graph.input.append(helper.make_tensor_value_info(ADDED + name, kind, shape))
    graph.node.append(helper.make_node("DequantizeLinear", [ADDED + name for name in types], [ADDED + "y"], domain=domain))
    for reader in ("one", "two"):
        graph.node.append(helper.make_node("Identity", [ADDED + "y"], [ADDED + reader]))
        graph.output.append(helper.make_tensor_value_info(ADDED + reader, onnx.TensorProto.FLOAT, [1]))
    return model


def dims(info):
    tensor = info.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]


if __name__ == "__main__":
    judging.main(__doc__, judge)
