//! Partial convolutions of whole numbers: never further off than they are said to be.

use crate::identities::interpreter::{Data, run};
use crate::identities::random_models::{Rng, random_inputs};
use crate::identities::sketch::{Sketch, affine};
use serde_json::json;
use serenity_ir::{Model, OpId, Operand, Quantization};
use serenity_rewrite::{Settings, apply, can_widen, described, find, rewritten_model, widen};

const MODELS: u64 = 400;

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

#[test]
fn partial_convolutions_of_integers_are_off_by_no_more_than_is_said() {
    let settings = Settings { rounds_integers: true, ..Settings::default() };
    let (mut differing, mut nearest) = (0, f64::INFINITY);
    for seed in 0..MODELS {
        let rng = &mut Rng::new(seed);
        let model = model(rng);
        let graph = described(&model).unwrap();
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
        let bound = bounds[&patch.op()];
        let rewritten = rewritten_model(&model, rewriting).unwrap();
        let inputs = random_inputs(&model, seed);
        let (wanted, found) = (run(&model, &inputs), run(&rewritten, &inputs));
        let ([Data::Int8(wanted)], [Data::Int8(found)]) = (wanted.as_slice(), found.as_slice()) else {
            panic!("whole numbers");
        };
        let off = |(wanted, found): (&i8, &i8)| f64::from((i16::from(*wanted) - i16::from(*found)).abs());
        let off = wanted.values.iter().zip(&found.values).map(off).fold(0.0, f64::max);
        assert!(off <= bound, "model {seed} is off by {off} steps, {bound} were said");
        differing += u64::from(off > 0.0);
        nearest = nearest.min(bound - off);
    }
    assert!(differing > MODELS / 2, "they do differ: {differing}");
    assert!(nearest < 4.0, "the bound is not far away: {nearest}");
}
