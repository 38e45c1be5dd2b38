#!/usr/bin/env python3
"""operators.py FOLDER [quantized]: small .tflite models, an operator each, that no model of the collections has in this form; with `quantized`, each operator with results of
other scales and zero points than its operands. Constants are random, but the same every time."""

import os
import sys

import flatbuffers
import numpy
from flatbuffers import flexbuffers
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

TYPES = {"bool": schema.TensorType.BOOL, "int8": schema.TensorType.INT8, "int16": schema.TensorType.INT16, "int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64, "uint32": schema.TensorType.UINT32, "float32": schema.TensorType.FLOAT32}


class Small:
    """A model while it is made: the first tensor is its input."""

    def __init__(self, name):
        self.name = name
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs = [], [], [0]
        self.codes, self.buffers, self.others = [], [schema.BufferT()], []
        self.generator = numpy.random.default_rng(len(name))

    def tensor(self, shape, kind="int8", scale=None, zero=0, data=None, is_variable=False, axis=0):
        tensor = schema.TensorT()
        tensor.name = f"t{len(self.graph.tensors)}"
        tensor.shape, tensor.type, tensor.buffer, tensor.isVariable = list(shape), TYPES[kind], 0, is_variable
        if scale is not None:
            scales = list(numpy.atleast_1d(numpy.float32(scale)))
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint, tensor.quantization.quantizedDimension = scales, [zero] * len(scales), axis
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = list(numpy.asarray(data, kind).tobytes())
            tensor.buffer = len(self.buffers)
            self.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def weights(self, shape, scale, axis=0):
        return self.tensor(shape, scale=scale, data=self.generator.integers(-127, 128, shape), axis=axis)

    def bias(self, count, most=2000):
        return self.tensor([count], "int32", data=self.generator.integers(-most, most, count))

    def op(self, kind, inputs, outputs, custom=None, **options):
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        if kind.startswith("Signal"):
            code.deprecatedBuiltinCode, code.customCode = schema.BuiltinOperator.CUSTOM, kind
            operator.customOptions = list(bytes(flexbuffers.Dumps(custom or {})))
        else:
            code.deprecatedBuiltinCode = min(getattr(schema.BuiltinOperator, kind), 127)
            if options:
                name = options.pop("of")
                operator.builtinOptionsType = getattr(schema.BuiltinOptions, name)
                operator.builtinOptions = getattr(schema, name + "T")()
                for option, value in options.items():
                    setattr(operator.builtinOptions, option, value)
        code.builtinCode, code.version = max(code.deprecatedBuiltinCode, getattr(schema.BuiltinOperator, kind, 0)), 1
        operator.opcodeIndex, operator.inputs, operator.outputs = len(self.codes), inputs, outputs
        self.codes.append(code)
        self.graph.operators.append(operator)

    def inner(self, make):
        """Another graph, which an operator runs; `make` returns its inputs and outputs."""
        outer, self.graph = self.graph, schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.graph.inputs, self.graph.outputs = make()
        self.others.append(self.graph)
        self.graph = outer
        return len(self.others)

    def save(self, folder, *outputs):
        model = schema.ModelT()
        self.graph.outputs = list(outputs)
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [self.graph, *self.others], self.buffers, self.codes
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(model.Pack(builder), b"TFL3")
        with open(os.path.join(folder, self.name + ".tflite"), "wb") as file:
            file.write(bytes(builder.Output()))


def hard_swish(folder):
    for number, (read, zero, given, shift) in enumerate([(0.05, -3, 0.03, -115), (0.004, 7, 0.003, 0), (0.31, 100, 0.2, -128)]):
        small = Small(f"hard_swish_{number}")
        x, y = small.tensor([1, 40, 13], scale=read, zero=zero), small.tensor([1, 40, 13], scale=given, zero=shift)
        small.op("HARD_SWISH", [x], [y])
        small.save(folder, y)


def resize(folder):
    cases = [((5, 7), (10, 14), False, True), ((5, 7), (10, 14), True, False), ((9, 6), (20, 5), False, False), ((12, 12), (5, 5), False, True), ((1, 3), (4, 1), True, False)]
    for number, (small_sides, sides, aligned, centred) in enumerate(cases):
        small = Small(f"resize_{number}")
        x, size = small.tensor([2, *small_sides, 3], scale=0.1), small.tensor([2], "int32", data=sides)
        y = small.tensor([2, *sides, 3], scale=0.1)
        small.op("RESIZE_BILINEAR", [x, size], [y], of="ResizeBilinearOptions", alignCorners=aligned, halfPixelCenters=centred)
        small.save(folder, y)


def grouped(folder):
    for number, (groups, stride, dilation, padding) in enumerate([(4, 2, 1, schema.Padding.SAME), (2, 1, 2, schema.Padding.VALID), (8, 1, 1, schema.Padding.SAME)]):
        small = Small(f"grouped_{number}")
        x = small.tensor([1, 11, 9, 8], scale=0.02, zero=-5)
        w = small.weights([16, 3, 3, 8 // groups], numpy.linspace(0.001, 0.01, 16))
        sides = [-(-side // stride) if padding == schema.Padding.SAME else side - 2 * dilation for side in (11, 9)]
        y = small.tensor([1, *sides, 16], scale=0.05, zero=9)
        small.op("CONV_2D", [x, w, small.bias(16)], [y], of="Conv2DOptions", padding=padding, strideH=stride, strideW=stride, dilationHFactor=dilation, dilationWFactor=dilation)
        small.save(folder, y)


def layers(folder):
    """Convolutions of one picture, whose results can be written over what they read."""
    cases = [(3, 1, 1, schema.Padding.SAME, 8, 8), (1, 1, 1, schema.Padding.VALID, 7, 13), (3, 2, 1, schema.Padding.SAME, 12, 12), (3, 2, 1, schema.Padding.VALID, 5, 20), (3, 1, 2, schema.Padding.SAME, 9, 6), (2, 3, 1, schema.Padding.VALID, 16, 3)]
    for number, (kernel, stride, dilation, padding, channels, results) in enumerate(cases):
        reach = (kernel - 1) * dilation + 1
        sides = [-(-side // stride) if padding == schema.Padding.SAME else (side - reach) // stride + 1 for side in (11, 10)]
        options = {"padding": padding, "strideH": stride, "strideW": stride, "dilationHFactor": dilation, "dilationWFactor": dilation}
        small = Small(f"layer_{number}_conv")
        x, w = small.tensor([1, 11, 10, channels], scale=0.02, zero=-5), small.weights([results, kernel, kernel, channels], numpy.linspace(0.001, 0.01, results))
        y = small.tensor([1, *sides, results], scale=0.05, zero=9)
        small.op("CONV_2D", [x, w, small.bias(results)], [y], of="Conv2DOptions", **options)
        small.save(folder, y)
        times = 1 + number // 4
        small = Small(f"layer_{number}_depthwise")
        x, w = small.tensor([1, 11, 10, channels], scale=0.02, zero=-5), small.weights([1, kernel, kernel, channels * times], numpy.linspace(0.001, 0.01, channels * times), axis=3)
        y = small.tensor([1, *sides, channels * times], scale=0.05, zero=9)
        small.op("DEPTHWISE_CONV_2D", [x, w, small.bias(channels * times)], [y], of="DepthwiseConv2DOptions", depthMultiplier=times, **options)
        small.save(folder, y)


def lstm(folder):
    for number, (by_time, batches, clip, power, zero) in enumerate([(True, 3, 0.0, -11, 2), (False, 2, 1.5, -12, -7), (False, 1, 8.0, -13, 0)]):
        small = Small(f"lstm_{number}")
        sides, cells, inputs = ([6, batches] if by_time else [batches, 6]), 10, 7
        x = small.tensor([*sides, inputs], scale=0.03, zero=-11)
        of_input = [small.weights([cells, inputs], 0.004 + 0.001 * gate) for gate in range(4)]
        of_cells = [small.weights([cells, cells], 0.005 + 0.001 * gate) for gate in range(4)]
        bias = [small.bias(cells, 5000) for _ in range(4)]
        last = small.tensor([batches, cells], scale=0.0078, zero=zero, is_variable=True)
        memory = small.tensor([batches, cells], "int16", scale=2.0**power, is_variable=True)
        y = small.tensor([*sides, cells], scale=0.0078, zero=zero)
        operands = [x, *of_input, *of_cells, -1, -1, -1, *bias, -1, -1, last, memory, -1, -1, -1, -1]
        small.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], of="UnidirectionalSequenceLSTMOptions", fusedActivationFunction=schema.ActivationFunctionType.TANH, cellClip=clip, timeMajor=by_time)
        small.save(folder, y)


def lstm_floats(folder):
    for number, (by_time, batches, clip) in enumerate([(True, 3, 0.0), (False, 2, 0.4)]):
        small = Small(f"lstm_floats_{number}")
        sides, cells, inputs = ([6, batches] if by_time else [batches, 6]), 10, 7
        constant = lambda shape: small.tensor(shape, "float32", data=small.generator.standard_normal(shape))
        x = small.tensor([*sides, inputs], "float32")
        of_input, of_cells, bias = ([constant(shape) for _ in range(4)] for shape in ([cells, inputs], [cells, cells], [cells]))
        last, memory = (small.tensor([batches, cells], "float32", is_variable=True) for _ in range(2))
        y = small.tensor([*sides, cells], "float32")
        operands = [x, *of_input, *of_cells, -1, -1, -1, *bias, -1, -1, last, memory, -1, -1, -1, -1]
        small.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], of="UnidirectionalSequenceLSTMOptions", fusedActivationFunction=schema.ActivationFunctionType.TANH, cellClip=clip, timeMajor=by_time)
        small.save(folder, y)


def whole_numbers(folder):
    small = Small("whole_numbers")
    number = lambda value: small.tensor([], "int32", data=value)
    given = small.tensor([5, 8], "int16")
    x, results = small.tensor([5, 8], "int32"), [small.tensor([5, 8], "int32") for _ in range(6)]
    small.op("CAST", [given], [x])
    column, row = small.tensor([5, 1], "int32", data=[[3], [-70000], [12345678], [0], [1]]), small.tensor([8], "int32", data=range(-3, 5))
    small.op("MUL", [x, column], [results[0]], of="MulOptions")
    small.op("ADD", [results[0], row], [results[1]], of="AddOptions")
    small.op("DIV", [results[1], number(-7)], [results[2]], of="DivOptions")
    small.op("SUB", [row, results[2]], [results[3]], of="SubOptions")
    small.op("MAXIMUM", [results[3], number(-900)], [results[4]])
    small.op("MINIMUM", [results[4], number(90000)], [results[5]])
    last = [small.tensor([5, 8], kind) for kind in ("int8", "int16", "uint32")]
    for result in last:
        small.op("CAST", [results[5]], [result])
    small.save(folder, *results[:5], *last)


def gathers(folder):
    for number, (axis, shape) in enumerate([(0, [4]), (1, [2, 3]), (-1, [7])]):
        small = Small(f"gather_{number}")
        x, sides = small.tensor([5, 6, 8], scale=0.1), [5, 6, 8]
        indices = small.tensor(shape, "int32", data=small.generator.integers(0, sides[axis], shape))
        y = small.tensor(sides[:axis % 3] + shape + sides[axis % 3 + 1:], scale=0.1)
        small.op("GATHER", [x, indices], [y], of="GatherOptions", axis=axis)
        small.save(folder, y)


def narrowed(folder):
    for number, (read, given, zero) in enumerate([(0.0004, 0.09, -5), (0.003, 0.25, 100), (0.0001, 0.02, 0)]):
        small = Small(f"narrowed_{number}")
        x, y = small.tensor([7, 11], "int16", scale=read), small.tensor([7, 11], scale=given, zero=zero)
        small.op("QUANTIZE", [x], [y])
        small.save(folder, y)


def resize_floats(folder):
    for number, (small_sides, sides, aligned, centred) in enumerate([((5, 7), (10, 14), False, True), ((5, 7), (11, 9), True, False), ((9, 6), (4, 13), False, False)]):
        small = Small(f"resize_floats_{number}")
        x, size = small.tensor([2, *small_sides, 3], "float32"), small.tensor([2], "int32", data=sides)
        y = small.tensor([2, *sides, 3], "float32")
        small.op("RESIZE_BILINEAR", [x, size], [y], of="ResizeBilinearOptions", alignCorners=aligned, halfPixelCenters=centred)
        small.save(folder, y)


def space(folder):
    for number, (kind, shape, block, around) in enumerate([("int8", [2, 6, 9, 3], [2, 3], [[1, 0], [0, 2]]), ("float32", [1, 6, 4, 5], [3, 2], [[0, 0], [0, 2]]), ("int8", [2, 10, 4], [2], [[2, 1]])]):
        small = Small(f"space_{number}")
        scale, zero = (0.1, -7) if kind == "int8" else (None, 0)
        x = small.tensor(shape, kind, scale, zero)
        # What is put around is a number that the runtime never sets, so there is nothing around, and something is cut off.
        blocks, none, cuts = (small.tensor(shape, "int32", data=data) for shape, data in [([len(block)], block), ([len(block), 2], numpy.zeros([len(block), 2])), ([len(block), 2], around)])
        pictures = [shape[0] * int(numpy.prod(block)), *[side // own for side, own in zip(shape[1:], block)], shape[-1]]
        left = [shape[0], *[side - sum(pair) for side, pair in zip(shape[1:], around)], shape[-1]]
        y, back = small.tensor(pictures, kind, scale, zero), small.tensor(left, kind, scale, zero)
        small.op("SPACE_TO_BATCH_ND", [x, blocks, none], [y])
        small.op("BATCH_TO_SPACE_ND", [y, blocks, cuts], [back])
        small.save(folder, y, back)
    for number, (kind, block) in enumerate([("int8", 2), ("float32", 3)]):
        small = Small(f"depth_{number}")
        scale = 0.1 if kind == "int8" else None
        x, y = small.tensor([2, 2 * block, 3 * block, 5], kind, scale), small.tensor([2, 2, 3, 5 * block * block], kind, scale)
        back = small.tensor([2, 2 * block, 3 * block, 5], kind, scale)
        small.op("SPACE_TO_DEPTH", [x], [y], of="SpaceToDepthOptions", blockSize=block)
        small.op("DEPTH_TO_SPACE", [y], [back], of="DepthToSpaceOptions", blockSize=block)
        small.save(folder, y, back)


def transposed(folder):
    same, valid = schema.Padding.SAME, schema.Padding.VALID
    cases = [("int8", 3, 2, same, 6, 9, True), ("int8", 2, 2, valid, 5, 4, False), ("float32", 4, 2, same, 3, 7, True), ("float32", 3, 3, valid, 6, 2, False), ("int8", 2, 3, valid, 4, 5, True)]
    for number, (kind, taps, stride, padding, channels, results, has_bias) in enumerate(cases):
        small = Small(f"transposed_{number}")
        shape = [1 + number % 2, 5, 4, channels]
        sides = [side * stride if padding == same else (side - 1) * stride + taps for side in shape[1:3]]
        is_float = kind == "float32"
        x = small.tensor(shape, kind, None if is_float else 0.02, 0 if is_float else -5)
        filters = [results, taps, taps, channels]
        if is_float:
            w = small.tensor(filters, kind, data=small.generator.standard_normal(filters))
            bias = small.tensor([results], kind, data=small.generator.standard_normal(results))
        else:
            w, bias = small.weights(filters, numpy.linspace(0.001, 0.01, results)), small.bias(results)
        y = small.tensor([shape[0], *sides, results], kind, None if is_float else 0.05, 0 if is_float else 9)
        whole = small.tensor([4], "int32", data=[shape[0], *sides, results])
        small.op("TRANSPOSE_CONV", [whole, w, x] + [bias] * has_bias, [y], of="TransposeConvOptions", padding=padding, strideH=stride, strideW=stride)
        small.save(folder, y)


def matrices(folder):
    cases = [("int8", [2, 3, 5], [2, 5, 4], False, False), ("int8", [5, 6], [3, 6], False, True), ("float32", [2, 3, 7, 4], [2, 3, 4, 6], False, False), ("float32", [3, 2, 5], [3, 5, 4], False, False), ("int8", [1, 4, 3, 5], [1, 4, 2, 5], False, True)]
    for number, (kind, left, right, turns_left, turns_right) in enumerate(cases):
        small = Small(f"matrices_{number}")
        is_float = kind == "float32"
        ends = [(None, 0)] * 3 if is_float else [(0.02, -5), (0.013, 7), (0.04, -9)]
        x, y = small.tensor(left, kind, *ends[0]), small.tensor(right, kind, *ends[1])
        rows, columns = left[-1] if turns_left else left[-2], right[-2] if turns_right else right[-1]
        batches = left[:-2] if len(left) >= len(right) else right[:-2]
        small.graph.inputs = [x, y]
        z = small.tensor([*batches, rows, columns], kind, *ends[2])
        small.op("BATCH_MATMUL", [x, y], [z], of="BatchMatMulOptions", adjX=turns_left, adjY=turns_right)
        small.save(folder, z)


def filters(folder):
    for number, (inputs, units, rank, memory) in enumerate([(7, 6, 1, 4), (10, 4, 2, 9)]):
        small, filters = Small(f"filters_{number}"), units * rank
        x, w = small.tensor([1, inputs], scale=0.03, zero=-11), small.weights([filters, inputs], 0.004)
        time = small.tensor([filters, memory], "int16", scale=0.0003, data=small.generator.integers(-3000, 3000, [filters, memory]))
        state = small.tensor([1, memory * filters], "int16", scale=0.0005, is_variable=True)
        y = small.tensor([1, units], scale=0.02, zero=-128)
        small.op("SVDF", [x, w, time, small.bias(units, 20000), state], [y], of="SVDFOptions", rank=rank, fusedActivationFunction=schema.ActivationFunctionType.RELU)
        small.save(folder, y)


def whiles(folder):
    """Loops that run as often as their input says: a number of times, and until a value is small."""
    small = Small("while_counted")
    given, values = small.tensor([1], "int8"), small.tensor([3], "int8")
    states = lambda: [small.tensor(shape, "int32") for shape in ([1], [3], [1])]
    limit, begin, zero = small.tensor([1], "int32"), small.tensor([3], "int32"), small.tensor([1], "int32", data=[0])
    small.graph.inputs = [given, values]
    small.op("CAST", [given], [limit])
    small.op("CAST", [values], [begin])

    def condition():
        inside, answer = states(), small.tensor([1], "bool")
        small.op("LESS", [inside[0], inside[2]], [answer])
        return inside, [answer]

    def body():
        inside, outside = states(), states()
        number = lambda value: small.tensor([1], "int32", data=[value])
        product = small.tensor([3], "int32")
        small.op("MUL", [inside[1], number(3)], [product], of="MulOptions")
        small.op("SUB", [product, inside[0]], [outside[1]], of="SubOptions")
        small.op("ADD", [inside[0], number(1)], [outside[0]], of="AddOptions")
        return inside, [outside[0], outside[1], inside[2]]

    results = states()
    small.op("WHILE", [zero, begin, limit], results, of="WhileOptions", condSubgraphIndex=small.inner(condition), bodySubgraphIndex=small.inner(body))
    small.save(folder, *results)
    small = Small("while_halved")
    x, y, zero, count = small.tensor([1], "float32"), small.tensor([1], "float32"), small.tensor([1], "int32", data=[0]), small.tensor([1], "int32")

    def is_large():
        value, count, first, second, answer = small.tensor([1], "float32"), small.tensor([1], "int32"), *(small.tensor([1], "bool") for _ in range(3))
        small.op("GREATER_EQUAL", [value, small.tensor([1], "float32", data=[0.01])], [first])
        small.op("NOT_EQUAL", [count, small.tensor([1], "int32", data=[5])], [second])
        small.op("LOGICAL_AND", [first, second], [answer])
        return [value, count], [answer]

    def halved():
        value, count, half, more = small.tensor([1], "float32"), small.tensor([1], "int32"), small.tensor([1], "float32"), small.tensor([1], "int32")
        small.op("MUL", [value, small.tensor([1], "float32", data=[0.5])], [half], of="MulOptions")
        small.op("ADD", [count, small.tensor([1], "int32", data=[1])], [more], of="AddOptions")
        return [value, count], [half, more]

    small.op("WHILE", [x, zero], [y, count], of="WhileOptions", condSubgraphIndex=small.inner(is_large), bodySubgraphIndex=small.inner(halved))
    small.save(folder, y, count)
    small = Small("compared")
    a, b, results = small.tensor([2, 5], "float32"), small.tensor([5], "float32"), []
    x, y = small.tensor([2, 5], "int32"), small.tensor([2, 1], "int32")
    small.graph.inputs = [a, b]
    small.op("CAST", [a], [x])
    small.op("CAST", [small.tensor([2, 1], "float32", data=[[1], [-2]])], [y])
    for kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        for operands in ([a, b], [x, y], [a, a]):
            results.append(small.tensor([2, 5], "bool"))
            small.op(kind, operands, [results[-1]])
    for kind, first in (("LOGICAL_AND", 6), ("LOGICAL_OR", 7)):
        results.append(small.tensor([2, 5], "bool"))
        small.op(kind, [results[first], results[first + 6]], [results[-1]])
    small.save(folder, *results)


def wrapped(folder):
    """Sums around the limits of 32 bits, and results that go beyond them once scaled."""
    limit = 2**31
    for number, (given, fine) in enumerate([(300.0, 0.001), (0.00003, 0.05)]):
        edges = lambda small, count: small.tensor([count], "int32", scale=0.02 * fine, data=[(limit - 1 - 997 * k) * (-1) ** k for k in range(count)] if number == 0 else [1000 * k for k in range(count)])
        window = {"padding": schema.Padding.SAME, "strideH": 1, "strideW": 1}
        layers = {
            "CONV_2D": ([1, 6, 5, 8], [9, 3, 3, 8], 9, 0, {"of": "Conv2DOptions", **window}),
            "DEPTHWISE_CONV_2D": ([1, 6, 5, 9], [1, 3, 3, 9], 9, 3, {"of": "DepthwiseConv2DOptions", "depthMultiplier": 1, **window}),
            "FULLY_CONNECTED": ([1, 30], [11, 30], 11, 0, {"of": "FullyConnectedOptions"}),
        }
        for kind, (shape, filters, results, axis, options) in layers.items():
            small = Small(f"wrapped_{kind.lower()}_{number}")
            x = small.tensor(shape, scale=0.02, zero=-100)
            w = small.weights(filters, fine if kind == "FULLY_CONNECTED" else numpy.linspace(fine, 2 * fine, results), axis)
            y = small.tensor([*shape[:-1], results], scale=given, zero=9)
            small.op(kind, [x, w, edges(small, results)], [y], **options)
            small.save(folder, y)
        small = Small(f"wrapped_transposed_{number}")
        x, w = small.tensor([1, 5, 4, 6], scale=0.02, zero=-5), small.weights([9, 3, 3, 6], numpy.linspace(fine, 2 * fine, 9))
        y, whole = small.tensor([1, 10, 8, 9], scale=given, zero=9), small.tensor([4], "int32", data=[1, 10, 8, 9])
        small.op("TRANSPOSE_CONV", [whole, w, x, edges(small, 9)], [y], of="TransposeConvOptions", padding=schema.Padding.SAME, strideH=2, strideW=2)
        small.save(folder, y)
    small = Small("wrapped_filters")
    x, w = small.tensor([1, 7], scale=0.03, zero=-11), small.weights([6, 7], 0.4)
    time = small.tensor([6, 8], "int16", scale=0.0003, data=small.generator.integers(30000, 32767, [6, 8]))
    state, y = small.tensor([1, 48], "int16", scale=0.0005, is_variable=True), small.tensor([1, 6], scale=3.0, zero=-1)
    small.op("SVDF", [x, w, time, small.bias(6, limit - 1), state], [y], of="SVDFOptions", rank=1, fusedActivationFunction=schema.ActivationFunctionType.RELU)
    small.save(folder, y)
    small = Small("wrapped_matrices")
    x, y, z = small.tensor([4, 9], scale=0.5, zero=-5), small.tensor([9, 6], scale=0.25, zero=7), small.tensor([4, 6], scale=0.0000003, zero=-9)
    small.graph.inputs = [x, y]
    small.op("BATCH_MATMUL", [x, y], [z], of="BatchMatMulOptions")
    small.save(folder, z)


def places(folder):
    for number, (kind, name, axis) in enumerate([("int8", "ARG_MAX", 2), ("float32", "ARG_MIN", 1), ("float32", "ARG_MAX", -1)]):
        small = Small(f"places_{number}")
        x, along = small.tensor([3, 5, 4], kind, 0.1 if kind == "int8" else None), small.tensor([], "int32", data=axis)
        y = small.tensor([3, 5] if axis != 1 else [3, 4], "int32")
        small.op(name, [x, along], [y], of="ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions", outputType=TYPES["int32"])
        small.save(folder, y)


def casts(folder):
    for number, kind in enumerate(["int8", "int16", "int32"]):
        small = Small(f"casts_{number}")
        x, y, back = small.tensor([5, 7], kind), small.tensor([5, 7], "float32"), small.tensor([5, 7], kind)
        small.op("CAST", [x], [y])
        small.op("CAST", [y], [back])
        small.save(folder, y, back)


def signals(folder):
    for number, (length, size) in enumerate([(64, 64), (100, 128), (200, 256), (3, 4), (480, 1024)]):
        small = Small(f"signal_{number}")
        x, window = small.tensor([length], "int16"), small.tensor([length], "int16", data=small.generator.integers(-4000, 4096, length))
        heard, scaled, bits = small.tensor([length], "int16"), small.tensor([length], "int16"), small.tensor([], "int32")
        small.op("SignalWindow", [x, window], [heard], {"shift": 12})
        small.op("SignalFftAutoScale", [heard], [scaled, bits])
        turned, energy = small.tensor([size + 2], "int16"), small.tensor([size // 2 + 1], "uint32")
        small.op("SignalRfft", [scaled], [turned], {"T": schema.TensorType.INT16, "fft_length": size})
        small.op("SignalEnergy", [turned], [energy], {"start_index": 0, "end_index": size // 2 + 1})
        small.save(folder, heard, scaled, bits, turned, energy)


# Scale and zero point of the operands and of the result: the same, finer, coarser, another zero point alone, and far apart.
ENDS = {
    "int8": [[(0.05, -3)] * 3, [(0.05, -3), (0.031, 11), (0.02, -128)], [(0.02, -128), (0.04, 0), (0.11, 5)], [(0.05, 4), (0.05, -9), (0.05, -20)], [(0.9, 100), (0.003, -100), (0.07, 127)]],
    "int16": [[(2.0**-11, 0)] * 3, [(2.0**-12, 0), (0.0003, 0), (0.0002, 0)], [(0.0001, 0), (0.0004, 0), (0.0011, 0)]],
    "float32": [[(None, 0)] * 3],
}
# What these functions give has a scale of its own.
RESULTS = {("LOGISTIC", "int8"): (1 / 256, -128), ("TANH", "int8"): (1 / 128, 0), ("SOFTMAX", "int8"): (1 / 256, -128)} | {(kind, "int16"): (2.0**-15, 0) for kind in ("LOGISTIC", "TANH", "SOFTMAX")}
OF_ONE = "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 LEAKY_RELU ELU LOGISTIC TANH HARD_SWISH ABS NEG SQRT RSQRT SQUARE LOG EXP SOFTMAX RESHAPE PAD PADV2 MIRROR_PAD AVERAGE_POOL_2D MAX_POOL_2D MEAN SUM REDUCE_MAX REDUCE_MIN RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR STRIDED_SLICE TRANSPOSE SPLIT QUANTIZE"
OF_TWO = "ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE PRELU CONCATENATION PACK"
FUSED = {"": 0, "_relu": 1, "_relu6": 3, "_n1": 2}


def options_of(kind, fused):
    pool = {"padding": schema.Padding.VALID, "strideH": 1, "strideW": 1, "filterHeight": 1, "filterWidth": 2}
    own = {"LEAKY_RELU": ("LeakyReluOptions", {"alpha": 0.2}), "SOFTMAX": ("SoftmaxOptions", {"beta": 1.0}), "CONCATENATION": ("ConcatenationOptions", {"axis": 3}), "PACK": ("PackOptions", {"valuesCount": 2, "axis": 0}), "SPLIT": ("SplitOptions", {"numSplits": 1}), "MIRROR_PAD": ("MirrorPadOptions", {"mode": 0})}
    own |= {name: (option, {}) for name, option in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"), ("DIV", "DivOptions"), ("STRIDED_SLICE", "StridedSliceOptions"))}
    own |= {name: ("Pool2DOptions", pool) for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D")} | {name: ("ReducerOptions", {"keepDims": True}) for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")}
    own |= {name: (name.title().replace("_", "") + "Options", {}) for name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")}
    if kind not in own:
        return {}
    name, options = own[kind]
    return {"of": name, **options, **({"fusedActivationFunction": FUSED[fused]} if fused else {})}


def of_one(small, kind, dtype, ends, shape):
    """The operands, and the shape of the result."""
    x, number = small.tensor(shape, dtype, *ends[0]), lambda values: small.tensor([len(values)], "int32", data=values)
    pads = lambda: small.tensor([4, 2], "int32", data=[[0, 0], [1, 0], [0, 2], [0, 0]])
    wider = [1, 4, 10, 5]
    if kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        return [x, number([1, 2])], [1, 1, 1, 5]
    if kind.startswith("RESIZE"):
        return [x, number([6, 4])], [1, 6, 4, 5]
    if kind == "STRIDED_SLICE":
        return [x, number([0, 1, 0, 0]), number([1, 3, 8, 5]), number([1, 1, 2, 1])], [1, 2, 4, 5]
    if kind == "PADV2":
        return [x, pads(), small.tensor([1], dtype, *ends[2], data=[7])], wider
    if kind in ("PAD", "MIRROR_PAD"):
        return [x, pads()], wider
    if kind == "SPLIT":
        return [small.tensor([], "int32", data=3), x], shape
    if kind == "TRANSPOSE":
        return [x, number([0, 2, 1, 3])], [1, 8, 3, 5]
    if kind == "RESHAPE":
        return [x, number([1, 24, 5])], [1, 24, 5]
    return [x], [1, 3, 7, 5] if kind.endswith("POOL_2D") else shape


def of_two(small, kind, dtype, ends, shape):
    x = small.tensor(shape, dtype, *ends[0])
    if kind == "PRELU":
        slopes = small.generator.integers(-100, 100, 5) if dtype != "float32" else numpy.linspace(-1, 1, 5)
        return [x, small.tensor([1, 1, 5], dtype, *ends[1], data=slopes)], shape
    y = small.tensor(shape, dtype, *ends[1])
    return [x, y], {"CONCATENATION": [1, 3, 8, 10], "PACK": [2, 1, 3, 8, 5]}.get(kind, shape)


def quantized(folder):
    for kind in (OF_ONE + " " + OF_TWO).split():
        takes_two = kind in OF_TWO.split()
        is_pool = kind.endswith("POOL_2D")
        can_fuse = is_pool or kind in ("ADD", "SUB", "MUL", "DIV", "CONCATENATION")
        for dtype, ends in ENDS.items():
            # What the runtime may refuse with one set of scales stands alone, so that it takes the others.
            groups = [[one] for one in ends] if is_pool or kind in ("CONCATENATION", "REDUCE_MAX", "REDUCE_MIN") else [ends]
            for number, group in enumerate(groups):
                for fused in FUSED if can_fuse else [""]:
                    small, outputs = Small(f"{kind.lower()}{fused}_{dtype}_{number}"), []
                    small.graph.inputs = []
                    for one in group:
                        operands, shape = (of_two if takes_two else of_one)(small, kind, dtype, one, [1, 3, 8, 5])
                        y = small.tensor(shape, dtype, *RESULTS.get((kind, dtype), one[2]))
                        small.op(kind, operands, [y], **options_of(kind, fused))
                        small.graph.inputs += [operand for operand in operands if small.graph.tensors[operand].buffer == 0]
                        outputs.append(y)
                    small.save(folder, *outputs)


for make in (quantized,) if "quantized" in sys.argv[2:] else (hard_swish, resize, grouped, layers, lstm, lstm_floats, whole_numbers, gathers, narrowed, resize_floats, space, transposed, matrices, filters, wrapped, whiles, places, casts, signals):
    make(sys.argv[1])
