//! Partial convolutions of whole numbers: never further off than they are said to be.

use crate::identities::judged::compared;
use crate::identities::random_models::Rng;
use crate::identities::sketch::{Sketch, affine};
use serde_json::json;
use serenity_ir::{Model, OpId, Operand, Quantization};
use serenity_judges::is_slow;
use serenity_rewrite::{Settings, apply, can_widen, described, find, rewritten_model, widen};

/// Models that are drawn; `SERENITY_SLOW` asks for more of them.
const MODELS: u64 = 200;
const MODELS_IF_SLOW: u64 = 400;

fn models() -> u64 {
    if is_slow() { MODELS_IF_SLOW } else { MODELS }
}

/// A concatenation of up to five inputs, and a convolution of it.
fn model(rng: &mut Rng) -> Model {
    let mut sketch = Sketch::new("a convolution of pieces");
    let size = rng.size(1, 5);
    let whole = affine(rng.real(0.01, 0.1), rng.between(-128, 127));
    let shape = |channels: u64| [1, size, size, channels];
    let mut channels = 0;
    let mut pieces = Vec::new();
    for _ in 0..rng.size(2, 5) {
        let piece = rng.size(1, 24);
        channels += piece;
        pieces.push(Operand::Activation(sketch.input(&shape(piece), Some(whole.clone()))));
    }
    let joined = json!({"axis": 3, "activation": "none"});
    let joined = sketch.op("CONCATENATION", pieces, joined, &shape(channels), Some(whole));
    let (filters, kernel) = (rng.size(1, 6), rng.choose(&[1, 3]));
    let count = (filters * kernel * kernel * channels) as usize;
    let weights: Vec<i8> = (0..count).map(|_| rng.between(-127, 127) as i8).collect();
    let scales: Vec<f32> = (0..filters).map(|_| rng.real(0.001, 0.02)).collect();
    let scales = Quantization { scales, zero_points: vec![0; filters as usize], axis: 0 };
    let weights = sketch.int8(&[filters, kernel, kernel, channels], &weights, scales);
    let bias: Vec<i32> = (0..filters).map(|_| rng.between(-20_000, 20_000) as i32).collect();
    let bias = sketch.int32(&[filters], &bias, None);
    // From results of which most are cut off to those that use a few numbers only.
    let result = affine(rng.real(0.01, 2.0), rng.between(-128, 127));
    let attributes = json!({"kernel": [kernel, kernel], "stride": [1, 1], "dilation": [1, 1], "padding": "same",
        "activation": rng.choose(&["none", "relu", "relu6"])});
    let operands = vec![Operand::Activation(joined), weights, bias];
    let result = sketch.op("CONV_2D", operands, attributes, &shape(filters), Some(result));
    sketch.finish(&[result])
}

/// The model without its concatenation, adding up in an order that `rng` draws, and by how many steps that may be off.
fn widened(seed: u64, model: &Model, rng: &mut Rng) -> (Model, f64) {
    let settings = Settings { rounds_integers: true, ..Settings::default() };
    let graph = described(model).unwrap();
    let constant = |op: OpId, position: usize| match model.operands()[op.index()].get(position) {
        Some(&Operand::Constant(index)) => Some(model.constants()[index].clone()),
        _ => None,
    };
    let patches = find(&graph, &settings);
    let [patch] = patches.as_slice() else { panic!("one place, in model {seed}") };
    assert!(!patch.exact && can_widen(&graph, patch.op(), &constant));
    let count = graph.op(OpId(0)).inputs.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.rotate_left(rng.size(0, count as u64 - 1) as usize);
    let rewriting = apply(&graph, &[patch.clone().with_order(order)], &settings).unwrap();
    let (rewriting, bounds) = widen(rewriting, &constant).unwrap();
    (rewritten_model(model, rewriting).unwrap(), bounds[&patch.op()])
}

#[test]
fn partial_convolutions_of_integers_are_off_by_no_more_than_is_said() {
    let (mut pairs, mut bounds) = (Vec::new(), Vec::new());
    for seed in 0..models() {
        let rng = &mut Rng::new(seed);
        let model = model(rng);
        let (rewritten, bound) = widened(seed, &model, rng);
        pairs.push((model, rewritten));
        bounds.push(bound);
    }
    let Some(verdicts) = compared(&pairs) else { return };
    let off: Vec<f64> = verdicts.iter().map(|(across, _)| across.difference).collect();
    for (seed, (off, bound)) in off.iter().zip(&bounds).enumerate() {
        assert!(off <= bound, "model {seed} is off by {off} steps, {bound} were said");
    }
    let differing = off.iter().filter(|off| **off > 0.0).count();
    assert!(differing as u64 > models() / 2, "they do differ: {differing}");
    let nearest = off.iter().zip(&bounds).map(|(off, bound)| bound - off).fold(f64::INFINITY, f64::min);
    assert!(nearest < 4.0, "the bound is not far away: {nearest}");
}
