//! The checker's own planners against those of the pipeline: two texts of the same runtimes, equal to the byte on
//! thousands of random graphs.

use serenity::check;
use serenity::ir::{
    Attributes, ElementType, Graph, GraphBuilder, KnownDim, KnownShape, Op, OpId, OpKind, Tensor, TensorId,
};
use serenity::runtimes::{Kernels, MemoryModel, MemoryModelExt, OrtOrder, OrtSetup, main_graph};
use serenity::search::Random;
use serenity_judges::draws;

const TFLITE: &[&str] = &[
    "ADD",
    "ADD",
    "MUL",
    "SUB",
    "RESHAPE",
    "SQUEEZE",
    "SOFTMAX",
    "RELU",
    "CONV_2D",
    "MEAN",
    "SPLIT",
    "SPLIT",
    "TRANSPOSE",
    "TILE",
    "SHAPE",
    "ADD_N",
    "SVDF",
    "EXPAND_DIMS",
    "DYNAMIC_UPDATE_SLICE",
    "TRANSPOSE_CONV",
    "DEQUANTIZE",
    "UNIQUE",
    "SLICE",
];

const ONNX: &[&str] = &[
    "com.microsoft:FusedConv",
    "Relu",
    "Relu",
    "Add",
    "Conv",
    "Reshape",
    "Flatten",
    "Identity",
    "Shape",
    "Clip",
    "Concat",
    "DequantizeLinear",
    "DequantizeLinear",
    "QuantizeLinear",
    "Softmax",
    "Squeeze",
    "Split",
];

/// Few sizes, so that there are ties.
fn tensor(random: &mut Random) -> Tensor {
    if random.below(12) == 0 {
        return Tensor::sized("", random.below(3) * 8);
    }
    let dtype = random.pick(&[ElementType::Int8, ElementType::Int8, ElementType::Float32, ElementType::Int4]);
    let shape =
        random.pick(&[vec![1, 4, 4, 8], vec![1, 8, 16], vec![1, 16], vec![1, 2, 2, 3], vec![33], vec![1]]);
    // Runtimes that infer shapes may know less of them.
    let known = match random.below(6) {
        0 => KnownShape::Nothing,
        1 => KnownShape::Partly(vec![KnownDim::Open; shape.len()]),
        2 => KnownShape::Partly(
            shape.iter().map(|_| KnownDim::Named(random.pick(&["n", "m"]).into())).collect(),
        ),
        _ => KnownShape::Whole,
    };
    Tensor { known, ..Tensor::shaped("", shape, dtype).unwrap() }
}

fn graph(random: &mut Random, kinds: &[&str], ops: u64, bodies: u64) -> Graph {
    let mut g = GraphBuilder::new("");
    let mut known: Vec<TensorId> = (0..=random.below(3)).map(|_| g.input(tensor(random))).collect();
    for _ in 0..ops {
        let recent = known.len().saturating_sub(1 + random.below(12) as usize);
        let inputs: Vec<TensorId> = (0..=random.below(3)).map(|_| random.pick(&known[recent..])).collect();
        let kind = random.pick(kinds);
        let results =
            if kind.eq_ignore_ascii_case("split") { 1 + random.below(24) } else { 1 + random.below(8) / 7 };
        // As large as an operand more often than not, so that it can be written over.
        let like = g.get(inputs[0]).clone();
        let outputs: Vec<TensorId> = (0..results)
            .map(|_| if random.below(3) > 0 { g.tensor(like.clone()) } else { g.tensor(tensor(random)) })
            .collect();
        let mut attributes = Attributes::new();
        if random.below(4) == 0 {
            let position = random.below(3).to_string();
            attributes
                .insert("constants".into(), serde_json::json!({position: {"shape": [2], "dtype": "int32"}}));
        }
        if bodies > 0 && random.below(5) == 0 {
            let run: Vec<u64> = (0..=random.below(2)).map(|_| 1 + random.below(bodies)).collect();
            attributes.insert("bodies".into(), run.into());
        }
        known.extend(&outputs);
        g.push_op(Op {
            name: String::new(),
            kind: OpKind::new(kind),
            inputs,
            outputs,
            attributes,
            extra: serde_json::Map::new(),
        });
    }
    let mut results: Vec<TensorId> = (0..random.below(3)).map(|_| random.pick(&known)).collect();
    results.sort_unstable();
    results.dedup();
    for t in results {
        g.output(t);
    }
    if random.below(3) == 0 {
        g.tensor(tensor(random));
    }
    g.build().unwrap()
}

fn random_order(graph: &Graph, random: &mut Random) -> Vec<OpId> {
    let mut order = Vec::new();
    let mut has_run = vec![false; graph.ops().len()];
    while order.len() < has_run.len() {
        let is_ready =
            |op: &OpId| !has_run[op.index()] && graph.predecessors(*op).iter().all(|p| has_run[p.index()]);
        let ready: Vec<OpId> = graph.op_ids().filter(is_ready).collect();
        let op = random.pick(&ready);
        has_run[op.index()] = true;
        order.push(op);
    }
    order
}

#[test]
fn tflm_with_and_without_a_plan() {
    let mut random = Random(1);
    for round in 0..draws(1500) {
        let bodies = random.below(3);
        let count = 1 + random.below(12);
        let mut graphs = vec![graph(&mut random, TFLITE, count, bodies)];
        for _ in 0..bodies {
            let count = 1 + random.below(5);
            graphs.push(graph(&mut random, TFLITE, count, 0));
        }
        let orders: Vec<Vec<OpId>> = graphs.iter().map(|g| random_order(g, &mut random)).collect();
        let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
        let offsets: Vec<Vec<Option<u64>>> = graphs
            .iter()
            .map(|g| g.tensor_ids().map(|_| (random.below(3) > 0).then(|| 16 * random.below(40))).collect())
            .collect();
        let refs: Vec<&Graph> = graphs.iter().collect();
        for (_, kernels) in Kernels::all() {
            let model = MemoryModel::Tflm(kernels);
            for plan in [None, Some(&offsets)] {
                let ours = check::arena(&refs, &orders, model, plan.map(Vec::as_slice));
                let theirs = model.arena(&refs, &orders, plan).map(|arena| arena.bytes);
                assert_eq!(ours, theirs, "{round} {kernels} {}", plan.is_some());
            }
            for model in [model, MemoryModel::TflmPlanned(kernels)] {
                let bodies: Vec<Vec<OpId>> = orders[1..].iter().map(|order| order.to_vec()).collect();
                let main = main_graph(&graphs, &bodies, model);
                let peak = model.lifetimes(&main).profile(orders[0]).peak();
                assert_eq!(check::model_peak(&refs, &orders, model, None), peak, "{round} {model} {kernels}");
            }
        }
    }
}

#[test]
fn litert() {
    let mut random = Random(2);
    let mut rounds = 0;
    for round in 0..draws(4000) {
        let count = 1 + random.below(24);
        let graph = graph(&mut random, TFLITE, count, 0);
        let order = random_order(&graph, &mut random);
        let theirs = MemoryModel::Litert.arena(&[&graph], &[&order], None).map(|arena| arena.bytes);
        assert_eq!(check::arena(&[&graph], &[&order], MemoryModel::Litert, None), theirs, "{round}");
        rounds += u64::from(theirs.is_some_and(|bytes| bytes > 0));
    }
    assert!(rounds > draws(3000), "{rounds}");
}

#[test]
fn onnx_runtime_in_both_orders() {
    let mut random = Random(3);
    for round in 0..draws(4000) {
        let count = 1 + random.below(24);
        let graph = graph(&mut random, ONNX, count, 0);
        let file = random_order(&graph, &mut random);
        for (walk, reuse) in OrtOrder::all().flat_map(|(_, order)| [(order, true), (order, false)]) {
            let model = MemoryModel::Ort(OrtSetup { order: walk, reuse });
            let theirs = model.arena(&[&graph], &[&file], None).map(|arena| arena.bytes);
            assert_eq!(check::arena(&[&graph], &[&file], model, None), theirs, "{round} {walk}");
            assert_eq!(
                check::ort_order(&graph, &file, model),
                model.execution_order(&graph, &file),
                "{round} {walk}"
            );
        }
    }
}
