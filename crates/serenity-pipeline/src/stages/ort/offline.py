"""Lets ONNX Runtime optimise a model as a default session does, keeps the result, and says what such a session asks for.

Started by offline.rs as `python -c SCRIPT MODEL RESULT SHAPES`; SHAPES gives the shapes of inputs whose size the model leaves open, as in `{"x": [1, 7]}`. Prints JSON,
one object a line: `{"engine": version}`, then `{"written": true}` once the result is there, and at the end `{"requested": bytes, "nodes": count}`, the most that the first run
has asked its arena for and not given back, or `{"unmeasured": why}`. `{"missing": why}` if the runtime is not installed, `{"error": why}` if it does not take the model.
"""

import tempfile

# A model that asks for more is not worth the risk of being run: what it needs is predicted then.
MOST_BYTES = 512 << 20


def limit_memory():
    """Lets this process have so much more than it has, where the system can say how much that is."""
    try:
        import resource

        with open("/proc/self/status") as status:
            held = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (held + MOST_BYTES, most))
    except (ImportError, OSError, StopIteration, ValueError):
        pass


def value(node, shapes, generator):
    """A random input; an extent that nobody gives is 1."""
    names = {"float": "float32", "double": "float64"}
    name = node.type.removeprefix("tensor(").removesuffix(")")
    shape = shapes.get(node.name) or [extent if isinstance(extent, int) else 1 for extent in node.shape]
    dtype = numpy.dtype(names.get(name, name))
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def requested(events):
    """The largest sum of requests alive after a node, without what was there before the first."""
    nodes = [event["args"] for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    if not nodes or "mem_bytes_requested_in_use" not in nodes[0]:
        raise ValueError("this version does not tell what it asks for")
    before = int(nodes[0]["mem_bytes_requested_in_use"]) - int(nodes[0].get("mem_requested_in_use_delta", 0))
    return max(int(node["mem_bytes_requested_in_use"]) for node in nodes) - before, len(nodes)


def run(model, result, shapes):
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.optimized_model_filepath = result
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        report(written=True)
        try:
            limit_memory()
            generator = numpy.random.default_rng(1)
            session.run(None, {node.name: value(node, shapes, generator) for node in session.get_inputs()})
            with open(session.end_profiling()) as file:
                most, nodes = requested(json.load(file))
            report(requested=most, nodes=nodes)
        except Exception as error:
            report(unmeasured=str(error) or type(error).__name__)


try:
    import numpy
    import onnxruntime

    # Without these, what is promised of the result cannot be asked for.
    onnxruntime.ExecutionOrder.PRIORITY_BASED
    onnxruntime.SessionOptions().enable_mem_reuse
except Exception as error:
    report(missing=f"{type(error).__name__}: {error}")
else:
    report(engine=onnxruntime.__version__)
    try:
        run(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    except Exception as error:
        report(error=str(error) or type(error).__name__)
REPORT.flush()
# Without the destructors: some versions crash there, after all is said.
os._exit(0)
