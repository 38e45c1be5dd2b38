#!/usr/bin/env python3
"""Makes large networks as exporters write them, with small weights: `networks.py NAME fixed|open OUT.onnx`.

`gpt`: 12 layers of a decoder. `vit`: 24 layers of an encoder on patches of an image. `unet`: blocks of group normalisation, SiLU and convolution on four
resolutions, joined across. Normalisations and activations are spelled out, and where sizes are `open` shapes are computed as the model runs.

`branch`, `repeat`, `scan`: small networks with an `If`, a `Loop` or a `Scan` whose bodies need more than all around them."""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, is_open):
        self.is_open = is_open
        self.nodes, self.constants = [], []
        self.generator = numpy.random.default_rng(7)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *values):
        return self.constant(numpy.array(values, numpy.int64))

    def number(self, value):
        return self.constant(numpy.array(value, numpy.float32))

    def weights(self, *shape):
        return self.constant((self.generator.standard_normal(shape) / numpy.sqrt(shape[0])).astype(numpy.float32))

    def normalised(self, x, width):
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1], keepdims=1))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.number(2)), axes=[-1], keepdims=1)
        scaled = self.op("Div", centred, self.op("Sqrt", self.op("Add", variance, self.number(1e-5))))
        return self.op("Add", self.op("Mul", scaled, self.weights(width)), self.weights(width))

    def linear(self, x, from_width, to_width):
        return self.op("Add", self.op("MatMul", x, self.weights(from_width, to_width)), self.weights(to_width))

    def gelu(self, x):
        half = self.op("Mul", x, self.number(0.5))
        return self.op("Mul", half, self.op("Add", self.op("Erf", self.op("Div", x, self.number(2**0.5))), self.number(1)))

    def reshaped(self, x, like, *sizes):
        """Batch and length of `like`, then these sizes: as numbers, or computed."""
        if not self.is_open:
            return self.op("Reshape", x, self.ints(*self.fixed, *sizes))
        shape = self.op("Shape", like)
        taken = [self.op("Unsqueeze", self.op("Gather", shape, self.constant(numpy.array(axis, numpy.int64))), self.ints(0)) for axis in (0, 1)]
        return self.op("Reshape", x, self.op("Concat", *taken, self.ints(*sizes), axis=0))

    def layer(self, x, width, heads):
        rest = self.normalised(x, width)
        three = self.linear(rest, width, 3 * width)
        parts = self.op("Split", three, self.ints(width, width, width), outputs=3, axis=2)
        query, key, value = (
            self.op("Transpose", self.reshaped(part, x, heads, width // heads), perm=[0, 2, 1, 3]) for part in parts
        )
        scores = self.op("Div", self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2])), self.number((width // heads) ** 0.5))
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        joined = self.reshaped(self.op("Transpose", mixed, perm=[0, 2, 1, 3]), x, width)
        x = self.op("Add", x, self.linear(joined, width, width))
        rest = self.linear(self.gelu(self.linear(self.normalised(x, width), width, 4 * width)), 4 * width, width)
        return self.op("Add", x, rest)

    def head(self, x, width, size, mask):
        """One head alone, as some exporters write them."""
        query, key, value = (self.linear(x, width, size) for _ in range(3))
        scores = self.op("Div", self.op("MatMul", query, self.op("Transpose", key, perm=[0, 2, 1])), self.number(size**0.5))
        return self.op("MatMul", self.op("Softmax", self.op("Add", scores, mask), axis=-1), value)

    def layer_of_heads(self, x, width, heads, mask):
        rest = self.normalised(x, width)
        mixed = self.op("Concat", *[self.head(rest, width, width // heads, mask) for _ in range(heads)], axis=2)
        joined = self.reshaped(mixed, x, width)
        x = self.op("Add", x, self.op("Mul", self.linear(joined, width, width), self.weights(width)))
        rest = self.linear(self.gelu(self.linear(self.normalised(x, width), width, 4 * width)), 4 * width, width)
        return self.op("Add", x, self.op("Mul", rest, self.weights(width)))

    def save(self, inputs, output, path):
        graph = helper.make_graph(self.nodes, "network", inputs, [output], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(model, path)


def gpt(is_open, path):
    net, width, length = Network(is_open), 64, 48
    net.fixed = (1, length)
    dims = ["batch", "length"] if is_open else [1, length]
    x = net.op("Gather", net.weights(100, width), "ids")
    mask = net.constant(numpy.triu(numpy.full((length, length), -1e9, numpy.float32), 1))
    for _ in range(12):
        x = net.layer_of_heads(x, width, 4, mask)
    x = net.op("MatMul", net.normalised(x, width), net.weights(width, 100))
    net.save(
        [helper.make_tensor_value_info("ids", TensorProto.INT64, dims)],
        helper.make_tensor_value_info(x, TensorProto.FLOAT, [*dims, 100]),
        path,
    )


def vit(is_open, path):
    net, width, side = Network(is_open), 48, 8
    net.fixed = (1, side * side)
    batch = "batch" if is_open else 1
    patches = net.op("Conv", "image", net.weights(width, 3, 4, 4), strides=[4, 4], kernel_shape=[4, 4])
    x = net.op("Transpose", net.op("Reshape", patches, net.ints(0, width, side * side)), perm=[0, 2, 1])
    x = net.op("Add", x, net.weights(1, side * side, width))
    for _ in range(24):
        x = net.layer(x, width, 3)
    x = net.op("MatMul", net.op("ReduceMean", net.normalised(x, width), axes=[1], keepdims=0), net.weights(width, 10))
    net.save(
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, 4 * side, 4 * side])],
        helper.make_tensor_value_info(x, TensorProto.FLOAT, [batch, 10]),
        path,
    )


def unet(is_open, path):
    net = Network(is_open)
    side = 32
    dims = ["batch", 3, "height", "width"] if is_open else [1, 3, side, side]

    def block(x, channels, to):
        shape = net.op("Shape", x) if is_open else None
        groups = net.op("Reshape", x, net.ints(0, 4, -1))
        groups = net.op("InstanceNormalization", groups, net.constant(numpy.ones(4, numpy.float32)), net.constant(numpy.zeros(4, numpy.float32)))
        size = side // (channels // 8)
        back = net.op("Reshape", groups, shape if is_open else net.ints(1, channels, size, size))
        scaled = net.op("Add", net.op("Mul", back, net.weights(channels, 1, 1)), net.weights(channels, 1, 1))
        active = net.op("Mul", scaled, net.op("Sigmoid", scaled))
        return net.op("Conv", active, net.weights(to, channels, 3, 3), pads=[1, 1, 1, 1], kernel_shape=[3, 3])

    def stage(x, channels, count):
        for _ in range(count):
            x = net.op("Add", x, block(block(x, channels, channels), channels, channels))
        return x

    x = net.op("Conv", "image", net.weights(8, 3, 3, 3), pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    kept = []
    for channels in (8, 16, 32):
        x = stage(x, channels, 10)
        kept.append(x)
        x = net.op("Conv", x, net.weights(2 * channels, channels, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3])
    x = stage(x, 64, 10)
    for channels in (32, 16, 8):
        scales = net.constant(numpy.array([1, 1, 2, 2], numpy.float32))
        x = net.op("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        x = net.op("Concat", x, kept.pop(), axis=1)
        x = net.op("Conv", x, net.weights(channels, 3 * channels, 1, 1), kernel_shape=[1, 1])
        x = stage(x, channels, 10)
    x = net.op("Conv", x, net.weights(3, 8, 3, 3), pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    net.save(
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, dims)],
        helper.make_tensor_value_info(x, TensorProto.FLOAT, dims),
        path,
    )


def floats(name, *dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(dims))


def wide(prefix, read, write):
    """Nodes of a body that make `write` of `read` by way of sixteen times as much."""
    return [
        helper.make_node("Concat", [read] * 16, [f"{prefix}_wide"], axis=1),
        helper.make_node("Relu", [f"{prefix}_wide"], [f"{prefix}_active"]),
        helper.make_node("Slice", [f"{prefix}_active", "first", "last", "axis"], [write]),
    ]


def around(node, path, inputs=(), shape=(1, 64), constants=()):
    """A node that makes `y` of `a`, between two small ones."""
    net = Network(False)
    net.nodes = [helper.make_node("Relu", ["x"], ["a"]), node, helper.make_node("Relu", ["y"], ["z"])]
    ends = [("first", 0), ("last", 64), ("axis", 1)]
    net.constants = [numpy_helper.from_array(numpy.array([value], numpy.int64), name) for name, value in ends]
    net.constants += constants
    net.save([floats("x", *shape), *inputs], floats("z", *shape), path)


def branch(_, path):
    def body(prefix):
        return helper.make_graph(wide(prefix, "a", f"{prefix}_y"), prefix, [], [floats(f"{prefix}_y", 1, 64)])

    node = helper.make_node("If", ["flag"], ["y"], then_branch=body("then"), else_branch=body("else"))
    around(node, path, [helper.make_tensor_value_info("flag", TensorProto.BOOL, [])])


def repeat(_, path):
    def flag(name):
        return helper.make_tensor_value_info(name, TensorProto.BOOL, [])

    nodes = [helper.make_node("Identity", ["goes_on"], ["will_go_on"]), *wide("body", "v", "w")]
    counter = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    body = helper.make_graph(
        nodes, "body", [counter, flag("goes_on"), floats("v", 1, 64)], [flag("will_go_on"), floats("w", 1, 64)]
    )
    constants = [
        numpy_helper.from_array(numpy.array(3, numpy.int64), "times"),
        numpy_helper.from_array(numpy.array(True), "begins"),
    ]
    around(helper.make_node("Loop", ["times", "begins", "a"], ["y"], body=body), path, constants=constants)


def scan(_, path):
    nodes = [helper.make_node("Add", ["state", "row"], ["sum"]), *wide("body", "sum", "w")]
    nodes.append(helper.make_node("Identity", ["w"], ["next"]))
    body = helper.make_graph(
        nodes, "body", [floats("state", 1, 64), floats("row", 1, 64)], [floats("next", 1, 64), floats("w", 1, 64)]
    )
    node = helper.make_node("Scan", ["begin", "a"], ["end", "y"], body=body, num_scan_inputs=1)
    around(node, path, [floats("begin", 1, 64)], (8, 1, 64))


if __name__ == "__main__":
    name, how, path = sys.argv[1:]
    made = {"gpt": gpt, "vit": vit, "unet": unet, "branch": branch, "repeat": repeat, "scan": scan}
    made[name](how == "open", path)
