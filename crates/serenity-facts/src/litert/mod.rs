//! What the reference kernels of LiteRT (TensorFlow Lite) keep outside the arena, and what they need in it besides their tensors.
//!
//! While a graph is prepared, some kernels compute their result at once if everything they read is constant by then; it
//! lies on the heap from there on and counts as a constant for the kernels that follow. Others learn only while the
//! graph runs how large their result will be; it lies on the heap too, and the planner stops there: what comes later is
//! planned when the run has come so far, and may have sizes that follow from it. The tables hold what release 2.3.0 of
//! `ai-edge-litert` was seen to do; a kind that is not listed keeps its results in the arena and needs nothing else.

mod temporaries;

use serde_json::Value;
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, Graph, Op, OpId, TensorId};

/// Where LiteRT keeps a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LitertPlace {
    /// In the arena, together with the other activations.
    Arena,
    /// On the heap, computed while the graph is prepared: as good as a constant.
    Folded,
    /// In the second arena, whose contents stay from run to run.
    Persistent,
    /// On the heap, since its size is known only when it is computed.
    Heap,
    /// In the arena, planned when the run has come so far: its size follows from that of a tensor on the heap. It may
    /// be nothing, so it counts as nothing.
    Later,
}

/// Memory that a kernel asks for besides its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LitertTemporary {
    /// The size in bytes.
    pub bytes: u64,
    /// In the arena while the kernel runs, or in the one whose contents stay.
    pub place: LitertPlace,
}

/// What LiteRT's kernels do with the memory of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitertKernels {
    places: Vec<LitertPlace>,
    temporaries: Vec<Vec<LitertTemporary>>,
    pauses: Vec<bool>,
}

/// As many elements a folded product has at most.
const LARGEST_FOLDED_PRODUCT: u64 = 8;

impl LitertKernels {
    /// Goes through the graph as the runtime does when it prepares it.
    ///
    /// ```
    /// use serenity_ir::{GraphBuilder, Tensor};
    /// use serenity_facts::{LitertKernels, LitertPlace};
    /// # fn main() -> Result<(), serenity_ir::GraphError> {
    /// let mut builder = GraphBuilder::new("");
    /// let x = builder.input(Tensor::sized("x", 64));
    /// let shape = builder.op("shape", "SHAPE", &[x], Tensor::sized("shape", 8));
    /// let first = builder.op("first", "GATHER", &[shape], Tensor::sized("first", 4));
    /// let kernels = LitertKernels::of(&builder.build()?);
    /// assert_eq!([x, shape, first].map(|t| kernels.place(t)), [LitertPlace::Arena, LitertPlace::Folded, LitertPlace::Folded]);
    /// # Ok(()) }
    /// ```
    pub fn of(graph: &Graph) -> Self {
        let mut kernels = Self {
            places: vec![LitertPlace::Arena; graph.tensors().len()],
            temporaries: vec![Vec::new(); graph.ops().len()],
            pauses: vec![false; graph.ops().len()],
        };
        for id in graph.file_order() {
            let operands = Operands { graph, op: graph.op(id), places: &kernels.places };
            let (place, placed) = results(graph, id, &operands);
            kernels.pauses[id.index()] =
                place == LitertPlace::Heap || takes_its_shape_while_running(&operands);
            kernels.temporaries[id.index()] = temporaries::of(&Call::new(graph, id), &operands, place);
            for &result in graph.op(id).outputs.iter().take(placed) {
                kernels.places[result.index()] = place;
            }
        }
        kernels
    }

    /// Where a tensor lies.
    pub fn place(&self, tensor: TensorId) -> LitertPlace {
        self.places[tensor.index()]
    }

    /// What the kernel of `op` has in the arenas besides its tensors, in the order in which it asks.
    pub fn temporaries(&self, op: OpId) -> &[LitertTemporary] {
        &self.temporaries[op.index()]
    }

    /// Does the kernel of `op` need more than [`temporaries`](Self::temporaries) tell? So it is where weights are
    /// quantised and what they are applied to is not.
    pub fn needs_more(graph: &Graph, op: OpId) -> bool {
        temporaries::are_unknown(&Call::new(graph, op))
    }

    /// Bytes that the kernel of `op` has in the arena of activations while it runs, besides its tensors.
    pub fn workspace(&self, op: OpId) -> u64 {
        let in_arena = self.temporaries(op).iter().filter(|temporary| temporary.place == LitertPlace::Arena);
        in_arena.fold(0, |sum, temporary| sum.saturating_add(temporary.bytes))
    }

    /// Is what follows `op` planned only after it has run?
    pub fn pauses(&self, op: OpId) -> bool {
        self.pauses[op.index()]
    }
}

/// The operands of an op, with what is known of their values while the graph is prepared.
struct Operands<'a> {
    graph: &'a Graph,
    op: &'a Op,
    places: &'a [LitertPlace],
}

impl Operands<'_> {
    /// Is the operand there and constant by then? One that is not there needs no value.
    fn is_known(&self, position: usize) -> bool {
        self.op.operand(position).is_none_or(|tensor| self.is_folded(tensor))
    }

    /// Is the operand a constant of the model?
    fn is_constant(&self, position: usize) -> bool {
        self.op.constant(position).is_some()
    }

    /// The values of a constant operand, if there are just as many.
    fn numbers<const COUNT: usize>(&self, position: usize) -> Option<[u64; COUNT]> {
        let values: [i64; COUNT] = self.op.constant(position)?.values()?.try_into().ok()?;
        values.iter().all(|&value| value >= 0).then(|| values.map(|value| value as u64))
    }

    fn all_known(&self) -> bool {
        self.op.inputs.iter().all(|&tensor| self.is_folded(tensor))
    }

    /// Is it known only in the run how large this is? What the file says of a tensor on the heap holds, unless it says
    /// itself that it may change.
    fn has_unknown_size(&self, tensor: TensorId) -> bool {
        match self.places[tensor.index()] {
            LitertPlace::Later => true,
            LitertPlace::Heap => has_open_dimension(self.graph, tensor),
            LitertPlace::Arena | LitertPlace::Folded | LitertPlace::Persistent => false,
        }
    }

    fn is_folded(&self, tensor: TensorId) -> bool {
        self.places[tensor.index()] == LitertPlace::Folded
    }
}

/// Where the first results lie, and how many they are; the others lie in the arena.
fn results(graph: &Graph, id: OpId, operands: &Operands) -> (LitertPlace, usize) {
    let op = operands.op;
    let of_unknown_size = match op.kind.operator() {
        UNIQUE | NON_MAX_SUPPRESSION_V4 => 1,
        NON_MAX_SUPPRESSION_V5 => 2,
        _ => op.outputs.len(),
    };
    if folds(graph, id, operands) {
        (LitertPlace::Folded, op.outputs.len())
    } else if matches!(op.kind.operator(), DEQUANTIZE | DENSIFY) && operands.is_constant(0) {
        (LitertPlace::Persistent, op.outputs.len())
    } else if has_results_of_unknown_size(graph, operands) {
        (LitertPlace::Heap, of_unknown_size)
    } else if follows_an_unknown_size(graph, operands) {
        (LitertPlace::Later, op.outputs.len())
    } else {
        (LitertPlace::Arena, op.outputs.len())
    }
}

fn folds(graph: &Graph, id: OpId, operands: &Operands) -> bool {
    match operands.op.kind.operator() {
        // The shape of a tensor is known before its values.
        SHAPE | RANK => true,
        BROADCAST_ARGS | CONCATENATION | GATHER | MUL | RANGE | RESHAPE | STRIDED_SLICE | TILE => {
            operands.all_known()
        }
        REDUCE_PROD => {
            let elements = Call::new(graph, id).described_result(0).and_then(|result| result.elements());
            operands.all_known() && elements.is_some_and(|count| count <= LARGEST_FOLDED_PRODUCT)
        }
        _ => false,
    }
}

/// The size of the result depends on the values of some operands. Are they unknown?
fn has_results_of_unknown_size(graph: &Graph, operands: &Operands) -> bool {
    let op = operands.op;
    let decisive: &[usize] = match op.kind.operator() {
        UNIQUE => return true,
        // It believes the file, unless that says that a dimension may change.
        SLICE if !op.outputs.iter().any(|&t| has_open_dimension(graph, t)) => &[],
        CONV_3D_TRANSPOSE
        | FILL
        | RANDOM_STANDARD_NORMAL
        | RANDOM_UNIFORM
        | SPLIT
        | TRANSPOSE_CONV
        | WHERE => &[0],
        MULTINOMIAL => &[0, 1],
        RANGE => &[0, 1, 2],
        ARG_MAX
        | ARG_MIN
        | BROADCAST_TO
        | EXPAND_DIMS
        | MEAN
        | MIRROR_PAD
        | ONE_HOT
        | PAD
        | PADV2
        | REDUCE_ALL
        | REDUCE_ANY
        | REDUCE_MAX
        | REDUCE_MIN
        | REDUCE_PROD
        | RESIZE_BILINEAR
        | RESIZE_NEAREST_NEIGHBOR
        | RFFT2D
        | SPARSE_TO_DENSE
        | SUM
        | TILE
        | TOPK_V2
        | TRANSPOSE => &[1],
        BATCH_TO_SPACE_ND
        | SLICE
        | SPACE_TO_BATCH_ND
        | SPLIT_V
        | UNSORTED_SEGMENT_MAX
        | UNSORTED_SEGMENT_MIN
        | UNSORTED_SEGMENT_PROD
        | UNSORTED_SEGMENT_SUM => &[1, 2],
        STRIDED_SLICE => &[1, 2, 3],
        NON_MAX_SUPPRESSION_V4 | NON_MAX_SUPPRESSION_V5 | SCATTER_ND => &[2],
        _ => &[],
    };
    !decisive.iter().all(|&position| operands.is_known(position))
        || op.outputs.iter().any(|&t| is_text(graph, t))
}

/// Does the file say that dimensions of the results may change, of an op that reads a tensor whose size is unknown?
fn follows_an_unknown_size(graph: &Graph, operands: &Operands) -> bool {
    let op = operands.op;
    op.outputs.iter().all(|&t| has_open_dimension(graph, t))
        && op.inputs.iter().any(|&t| operands.has_unknown_size(t))
}

/// A reshaping to a shape that is computed: its size is known, so it may share its input's memory, but the planner
/// stops there all the same.
fn takes_its_shape_while_running(operands: &Operands) -> bool {
    operands.op.kind.operator() == RESHAPE && !operands.is_known(1)
}

fn has_open_dimension(graph: &Graph, tensor: TensorId) -> bool {
    let signature = graph.tensor(tensor).extra.get("shape_signature").and_then(Value::as_array);
    signature.is_some_and(|dims| dims.iter().any(|dim| dim.as_i64() == Some(-1)))
}

fn is_text(graph: &Graph, tensor: TensorId) -> bool {
    matches!(&graph.tensor(tensor).dtype, Some(ElementType::Other(name)) if name.eq_ignore_ascii_case("string"))
}

/// All of this was seen in the runtime.
#[cfg(test)]
mod tests {
    use super::LitertPlace::{self, Arena, Folded, Heap, Later, Persistent};
    use super::*;

    use serde_json::json;
    use serenity_ir::ElementType::Float32;
    use serenity_ir::{GraphBuilder, Tensor, sketch};

    /// The results of an op, written as text, lie here, and the planner stops there or not.
    fn assert_outcome(op: &str, places: &[LitertPlace], pauses: bool) {
        let graph = sketch(op);
        let kernels = LitertKernels::of(&graph);
        let found: Vec<_> = graph.op(OpId(0)).outputs.iter().map(|&result| kernels.place(result)).collect();
        assert_eq!((&found[..], kernels.pauses(OpId(0))), (places, pauses), "{op}");
    }

    #[test]
    fn weights_that_alone_are_quantized_take_more_than_is_known() {
        for (weights, needs_more) in [("int8", true), ("float32", false)] {
            let op = format!("float32[1,4] = FULLY_CONNECTED float32[1,8] {weights}#[4,8]");
            assert_eq!(LitertKernels::needs_more(&sketch(&op), OpId(0)), needs_more, "{weights}");
        }
    }

    #[test]
    fn some_kernels_compute_on_constants_at_once() {
        for (kinds, place) in [
            ("MUL GATHER CONCATENATION RESHAPE STRIDED_SLICE TILE BROADCAST_ARGS RANGE", Folded),
            ("ADD SUB CAST PACK SLICE FILL PAD TRANSPOSE EXPAND_DIMS MEAN", Arena),
        ] {
            for kind in kinds.split(' ') {
                assert_outcome(&format!("int32[8] = {kind} int32#[8] int32#[8]"), &[place], false);
            }
        }
        assert_outcome("int32[8] = REDUCE_PROD int32#[3,8] int32#[1]", &[Folded], false);
        assert_outcome("int32[9] = REDUCE_PROD int32#[3,9] int32#[1]", &[Arena], false);
        assert_outcome("int32[2] = SHAPE float32[2,3]", &[Folded], false);
        // Unpacked constants persist.
        assert_outcome("float32[8] = DEQUANTIZE int8#[8]", &[Persistent], false);
        assert_outcome("float32[8] = DEQUANTIZE int8[8]", &[Arena], false);
    }

    #[test]
    fn results_of_unknown_size_lie_on_the_heap() {
        for (kinds, place, pauses) in [
            ("TRANSPOSE PAD RESIZE_BILINEAR TILE BROADCAST_TO MEAN TOPK_V2 EXPAND_DIMS", Heap, true),
            ("ADD GATHER CUMSUM REVERSE_V2", Arena, false),
            // The size of what is reshaped is known, its shape is not.
            ("RESHAPE", Arena, true),
        ] {
            for kind in kinds.split(' ') {
                assert_outcome(&format!("float32[8] = {kind} float32[8] int32[1]"), &[place], pauses);
            }
        }
        assert_outcome("int32[8] int64[8] = UNIQUE int32[8]", &[Heap, Arena], true);
    }

    /// The size of what is sliced is computed, so that of all that follows is known only in the run, as far as the file
    /// leaves it open.
    #[test]
    fn what_follows_from_an_unknown_size_is_planned_later() {
        let sized = |signature: &[i64]| {
            let mut tensor = Tensor::shaped("", vec![1, 8], Float32).unwrap();
            tensor.extra.insert("shape_signature".to_owned(), json!(signature));
            tensor
        };
        let mut builder = GraphBuilder::new("");
        let [x, y] = [(); 2].map(|()| builder.input(sized(&[1, 8])));
        let [begin, end, step] = [(); 3].map(|()| builder.input(Tensor::sized("", 8)));
        let slice = builder.op("", "STRIDED_SLICE", &[x, begin, end, step], sized(&[-1, 8]));
        let open = builder.op("", "BATCH_MATMUL", &[slice, y], sized(&[-1, 8]));
        let fixed = builder.op("", "RESHAPE", &[open], sized(&[1, 8]));
        // A batch that callers may change is another matter: it is planned as the file has it.
        let batch = builder.op("", "LEAKY_RELU", &[x], sized(&[-1, 8]));
        let kernels = LitertKernels::of(&builder.build().unwrap());
        assert_eq!([slice, open, fixed, batch].map(|t| kernels.place(t)), [Heap, Later, Arena, Arena]);
        // Of both factors that are transposed, one may be empty.
        assert_eq!(kernels.temporaries(OpId(1)), [LitertTemporary { bytes: 32, place: Arena }]);
    }

    #[test]
    fn a_slice_believes_the_file_unless_a_dimension_is_open() {
        let sliced = |signature: serde_json::Value| {
            let mut builder = GraphBuilder::new("");
            let [x, begin, size] = [(); 3].map(|()| builder.input(Tensor::sized("", 8)));
            let mut result = Tensor::sized("", 8);
            result.extra.insert("shape_signature".to_owned(), signature);
            let result = builder.op("", "SLICE", &[x, begin, size], result);
            LitertKernels::of(&builder.build().unwrap()).place(result)
        };
        assert_eq!((sliced(json!([1, 2])), sliced(json!([-1, 2]))), (Arena, Heap));
    }

    #[test]
    fn what_is_folded_counts_as_constant() {
        let kernels = LitertKernels::of(&sketch(
            "x:64; shape:8 = SHAPE x; twice:8 = MUL shape shape; sum:8 = ADD twice shape; \
             known:64 = RESHAPE x twice; computed:64 = TILE x sum",
        ));
        let places: Vec<_> = (1..6).map(|tensor| kernels.place(TensorId(tensor))).collect();
        assert_eq!(places, [Folded, Folded, Arena, Arena, Heap]);
        assert_eq!([3, 4].map(|op| kernels.pauses(OpId(op))), [false, true]);
    }
}
