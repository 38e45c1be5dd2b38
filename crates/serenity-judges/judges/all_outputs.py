#!/usr/bin/env python3
"""all_outputs.py MODEL COPY: a copy of a .tflite model that gives out every tensor that an operator of its main graph writes."""

import sys

import flatbuffers
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

with open(sys.argv[1], "rb") as file:
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(file.read(), 0))
graph = model.subgraphs[0]
written = [int(tensor) for operator in graph.operators for tensor in operator.outputs]
# Tensors without a size of their own, such as handles, are no outputs.
plain = [t for t in written if graph.tensors[t].shape is not None and graph.tensors[t].type != schema.TensorType.RESOURCE]
graph.outputs = sorted(set(plain) | {int(tensor) for tensor in graph.outputs})
# Names of outputs are those of the model as it was.
model.signatureDefs = []
builder = flatbuffers.Builder(1 << 20)
builder.Finish(model.Pack(builder), b"TFL3")
with open(sys.argv[2], "wb") as file:
    file.write(bytes(builder.Output()))
