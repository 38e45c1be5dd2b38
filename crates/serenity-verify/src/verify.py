"""Runs two models on the same random inputs in one runtime and compares every bit of their outputs.

Started by python.rs as `python -c SCRIPT ENGINE A B RUNS SEED CHANGES`; CHANGES names the positions of inputs and outputs at which B has the whole numbers that A
converts, the models that were made for a fast session of ONNX Runtime, and the inputs and outputs that B carries from run to run, as in `{"input": [0], "output": [], "fast": [], "carried": []}`. Prints JSON, one object a line: `{"stage": …}` before each step that may
crash, and at the end either `{"result": …}`, `{"missing": why}` if the runtime is not installed, or `{"error": why, "model": "a" or "b"}`.
"""

import importlib
import importlib.metadata


class Missing(Exception):
    pass


def module(*names):
    reasons = []
    for name in names:
        try:
            return importlib.import_module(name)
        except Exception as error:  # A broken installation raises anything.
            reasons.append(f"{name}: {error}")
    raise Missing("; ".join(reasons))


def installed_version(package):
    for name in (package, package.replace("_", "-")):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return ""


def port(name, shape, dtype, quantisation=None):
    """One input or output as users of the model see it."""
    return {"name": name, "shape": [int(extent) for extent in shape], "dtype": str(dtype), "quantisation": quantisation}


def quantisation(details):
    parameters = details["quantization_parameters"]
    scales = [float(scale) for scale in parameters["scales"]]
    return scales and [scales, [int(point) for point in parameters["zero_points"]]]


class LiteRt:
    """LiteRT with its reference kernels: the same result on every machine, and no delegate that would rearrange the graph."""

    resolver = "BUILTIN_REF"

    @classmethod
    def load(cls):
        for name in ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "tensorflow.lite.python.interpreter"):
            try:
                cls.library = module(name)
            except Missing:
                continue
            package = name.partition(".")[0]
            return f"{package} {installed_version(package)}".strip()
        raise Missing("none of ai_edge_litert, tflite_runtime and tensorflow can be imported")

    def __init__(self, path):
        kernels = self.library.OpResolverType[self.resolver]
        self.model = self.library.Interpreter(
            model_path=path, experimental_op_resolver_type=kernels, num_threads=1
        )
        self.model.allocate_tensors()
        self.inputs = [self.port(details) for details in self.model.get_input_details()]
        self.outputs = [self.port(details) for details in self.model.get_output_details()]

    @staticmethod
    def port(details):
        dtype = numpy.dtype(details["dtype"])
        return port(details["name"], details["shape"], dtype, quantisation(details))

    def run(self, values):
        for details, value in zip(self.model.get_input_details(), values):
            self.model.set_tensor(details["index"], value)
        self.model.invoke()
        return [self.model.get_tensor(details["index"]) for details in self.model.get_output_details()]


class LiteRtBuiltin(LiteRt):
    """LiteRT with its own optimised kernels."""

    resolver = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"


class LiteRtXnnpack(LiteRt):
    """LiteRT as it comes, with XNNPACK."""

    resolver = "BUILTIN"


class Tflm:
    """TensorFlow Lite for Microcontrollers: the one runtime that follows an offline memory plan, right or wrong."""

    ARENA = 1 << 30  # Only what is used is ever touched.

    @classmethod
    def load(cls):
        cls.library = module("tflite_micro.runtime", "tflite_micro.python.tflite_micro.runtime")
        cls.schema = module("tflite_micro.tensorflow.lite.micro.python.schema_py_generated")
        return f"tflite_micro {installed_version('tflite_micro')}".strip()

    def __init__(self, path):
        with open(path, "rb") as file:
            content = file.read()
        graph = self.schema.Model.GetRootAs(content, 0).Subgraphs(0)
        self.model = self.library.Interpreter.from_bytes(content, arena_size=self.ARENA)

        def ports(count, tensor_index, details_of):
            for index in range(count):
                name = (graph.Tensors(tensor_index(index)).Name() or b"").decode("utf-8", "replace")
                details = details_of(index)
                yield port(name, details["shape"], numpy.dtype(details["dtype"]), quantisation(details))

        self.inputs = list(ports(graph.InputsLength(), graph.Inputs, self.model.get_input_details))
        self.outputs = list(ports(graph.OutputsLength(), graph.Outputs, self.model.get_output_details))

    def run(self, values):
        for index, value in enumerate(values):
            self.model.set_input(value, index)
        self.model.invoke()
        return [self.model.get_output(index).copy() for index in range(len(self.outputs))]


class Ort:
    """ONNX Runtime with its graph optimisation off, so that the models run as they are written. Those made for a fast session run in one; what they are
    compared with is then optimised as a default session does, because that is what they were made of."""

    # Paths of the models that were made for a fast session.
    fast = ()

    DTYPES = {"float": "float32", "double": "float64", "string": "object"}

    @classmethod
    def load(cls):
        cls.library = module("onnxruntime")
        sessions = ", sessions as the files want them" if cls.fast else ""
        return f"onnxruntime {installed_version('onnxruntime')}".strip() + sessions

    def __init__(self, path):
        options = self.library.SessionOptions()
        if path in self.fast or not self.fast:
            options.graph_optimization_level = self.library.GraphOptimizationLevel.ORT_DISABLE_ALL
        if path in self.fast:
            options.execution_order = self.library.ExecutionOrder.PRIORITY_BASED
            options.enable_mem_reuse = False
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.model = self.library.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [self.port(node) for node in self.model.get_inputs()]
        self.outputs = [self.port(node) for node in self.model.get_outputs()]

    @classmethod
    def port(cls, node):
        name = node.type.removeprefix("tensor(").removesuffix(")")
        # An extent that the model leaves open is 1.
        shape = [extent if isinstance(extent, int) else 1 for extent in node.shape]
        return port(node.name, shape, cls.DTYPES.get(name, name))

    def run(self, values):
        feed = {node["name"]: value for node, value in zip(self.inputs, values)}
        return self.model.run(None, feed)


class Slid:
    """A model that takes the new rows of a window in each run, as one that takes windows. What it carries from run to run is left to the memory plan in TFLM, and handed on
    in other runtimes, which have none."""

    def __init__(self, model, window, carried):
        self.model, self.carried, self.before = model, carried, None
        self.hands_on = not isinstance(model, Tflm)
        frames = model.inputs[0]
        self.hop = frames["shape"][1]
        # Rows are all that may differ.
        self.inputs = [{**frames, "shape": [*frames["shape"][:1], *window["shape"][1:2], *frames["shape"][2:]]}]
        gone = {output for _, output in carried}
        self.kept = [index for index in range(len(model.outputs)) if index not in gone]
        self.outputs = [model.outputs[index] for index in self.kept]
        self.states = [numpy.zeros(one["shape"], numpy.dtype(one["dtype"])) for one in model.inputs[1:]]

    def next(self, value):
        """The next window: of the first, all rows are new."""
        if self.before is not None:
            value = numpy.concatenate([self.before[:, self.hop :], value[:, -self.hop :]], axis=1)
        return value

    def run(self, values):
        [window] = values
        runs = -(-window.shape[1] // self.hop) if self.before is None else 1
        self.before = window
        # Rows that are older than the first window may be anything.
        rows = numpy.concatenate([window[:, :1]] * self.hop + [window], axis=1)
        for run in reversed(range(runs)):
            end = rows.shape[1] - run * self.hop
            frames = numpy.ascontiguousarray(rows[:, end - self.hop : end])
            found = self.model.run([frames, *self.states] if self.hands_on else [frames])
            for given, made in self.carried:
                self.states[given - 1] = found[made]
        return [found[index] for index in self.kept]


ENGINES = {"litert": LiteRt, "litert-builtin": LiteRtBuiltin, "litert-xnnpack": LiteRtXnnpack, "tflm": Tflm, "onnxruntime": Ort}


def real(wanted, value):
    """The floats that whole numbers stand for, computed as the runtimes' DEQUANTIZE does; their QUANTIZE gives back the very same numbers."""
    [scale], points = wanted["quantisation"]
    difference = value.astype(numpy.int32) - (points[0] if points else 0)
    return (scale * difference).astype(numpy.float32)


def signature_differences(a, b, quantised):
    """In words, what users of the two models would see differently before anything runs, but for what is quantised in the second."""
    differences = []
    for what, ours, theirs in (("input", a.inputs, b.inputs), ("output", a.outputs, b.outputs)):
        if len(ours) != len(theirs):
            differences.append(f"{len(ours)} {what}s against {len(theirs)}")
            continue
        for index, (one, other) in enumerate(zip(ours, theirs)):
            keys = ("shape",) if index in quantised[what] else ("name", "shape", "dtype", "quantisation")
            for key in keys:
                if one[key] != other[key]:
                    differences.append(f"{what} {index} (`{one['name']}`): {key} {one[key]} against {other[key]}")
    return differences


def compare(engine, paths, runs, seed, quantised, carried):
    models = []
    for which, path in zip("ab", paths):
        report(stage="loading", model=which)
        try:
            models.append(engine(path))
        except Exception as error:
            return report(error=str(error) or type(error).__name__, stage="loading", model=which)
    a, b = models
    if carried and len(a.inputs) == 1:
        b = models[1] = Slid(b, a.inputs[0], carried)
    result = {"signature": signature_differences(a, b, quantised), "inputs": len(a.inputs), "outputs": [], "first_difference": None}
    if not result["signature"]:
        generator = numpy.random.default_rng(seed)
        comparisons = [Comparison(output["name"]) for output in a.outputs]
        # Two invocations in a row a run: wrong state and clobbered inputs show in the second.
        for invocation in range(2 * runs):
            try:
                values = [random_value(wanted, generator) for wanted in b.inputs]
            except (ValueError, MemoryError) as error:
                # Both take the same, so nobody did that by changing the first.
                return report(error=str(error), stage="running", model="a")
            if isinstance(b, Slid):
                values = [b.next(values[0])]
            floats = [real(b.inputs[i], v) if i in quantised["input"] else v for i, v in enumerate(values)]
            answers = []
            for which, model, given in zip("ab", models, (floats, values)):
                report(stage="running", model=which)
                try:
                    answers.append(model.run(given))
                except Exception as error:
                    return report(error=str(error) or type(error).__name__, stage="running", model=which)
            for index in quantised["output"]:
                answers[1][index] = real(b.outputs[index], answers[1][index])
            for comparison, one, other in zip(comparisons, *answers):
                comparison.add(one, other)
            if result["first_difference"] is None and not all(c.equal for c in comparisons):
                result["first_difference"] = {"run": invocation // 2, "invocation": invocation % 2}
        result["outputs"] = [comparison.as_json() for comparison in comparisons]
    report(result=result)


try:
    arguments = sys.argv[1:]
    engine = ENGINES[arguments[0]]
    changes = json.loads(arguments[5])
    Ort.fast, carried = changes.pop("fast"), changes.pop("carried")
    numpy = module("numpy")
    report(engine=engine.load())
except Missing as error:
    report(missing=str(error))
else:
    try:
        compare(engine, arguments[1:3], int(arguments[3]), int(arguments[4]), changes, carried)
    except Exception as error:
        report(error=f"{type(error).__name__}: {error}", stage="comparing", model=None)
REPORT.flush()
# Without the destructors: some runtimes crash there, after all is said.
os._exit(0)
