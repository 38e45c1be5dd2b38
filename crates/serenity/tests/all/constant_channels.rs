//! Models without channels that are the same number everywhere: what they need, whether their plans can be checked, and
//! whether TFLM agrees.

use crate::common::portable_head;
use serenity::pipeline::Need;
use serenity::plan_check::CheckOptions;
use serenity::tflite::{Model, NewTensor};
use serenity::zoo::Precision;
use serenity::{
    Format, Input, Loops, Optimized, Options, PlanFile, ReadOptions, Rewrites, check_plan, export, load,
    load_bytes, optimize,
};
use serenity_judges::{Engine, Inputs, Rewritten, Verdict, shared};
use std::path::Path;

/// A built-in network in which every third filter of every convolution is zero.
fn with_zero_filters(name: &str) -> Input {
    let model = Model::parse(export(name, Format::TfLite, Precision::Int8).unwrap().bytes).unwrap();
    let main = &model.sub_graphs()[0];
    let mut edit = model.edit();
    for operator in main.operators().iter().filter(|operator| operator.kind == "CONV_2D") {
        let number = operator.inputs[1].unwrap();
        let old = &main.tensors()[number];
        let mut data = model.constant(0, number).unwrap().to_vec();
        let filter = data.len() / old.shape[0] as usize;
        data.chunks_mut(filter).skip(1).step_by(3).for_each(|filter| filter.fill(0));
        let new = NewTensor {
            name: old.name.clone(),
            shape: old.shape.clone(),
            shape_signature: None,
            dtype: old.dtype.clone(),
            buffer: edit.add_buffer(data),
            quantization: old.quantization.clone(),
        };
        edit.replace_tensor(0, number, new).unwrap();
    }
    let bytes = edit.finish().unwrap().bytes;
    load_bytes("zeros.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap()
}

fn planned(input: &Input, rewrites: Rewrites, loops: Option<Loops>) -> Optimized {
    optimize(input, &Options { rewrites, loops, ..Options::for_input(input) }).unwrap()
}

fn need(best: &Optimized) -> u64 {
    Need::of(&best.model, &best.plan).bytes
}

#[test]
fn zero_filters_are_left_out_and_the_plan_can_be_checked() {
    let input = with_zero_filters("mobilenet?resolution=64");
    let none = planned(&input, Rewrites::None, None);
    assert_eq!(none.plan.constant_channels, None);
    for loops in [None, Some(Loops::default())] {
        let best = planned(&input, Rewrites::Exact, loops);
        let channels = best.plan.constant_channels.as_ref().unwrap();
        // Where the constant is not zero, a convolution that sees a border keeps it.
        assert!(channels.removed * 20 > channels.channels.before, "{channels:?}");
        assert!(need(&best) < need(&planned(&input, Rewrites::None, loops)));
        assert_eq!(best.plan.before, none.plan.before);
        let plan = PlanFile::from_json(&best.plan.to_json()).unwrap();
        let verdict = check_plan(&input, &plan, &CheckOptions::default());
        let problems: Vec<&str> = verdict.problems().collect();
        assert!(problems.is_empty() && verdict.is_verified("constant_channels"), "{problems:?}");
        // What was written has no such channels any more.
        let verdict = check_plan(&best.model, &plan, &CheckOptions::default());
        assert!(verdict.problems().any(|problem| problem.contains("not with the file that was written")));
    }
}

#[test]
fn a_plan_that_says_otherwise_is_refuted() {
    let input = with_zero_filters("mobilenet?resolution=64");
    let json = planned(&input, Rewrites::Exact, None).plan.to_json();
    let checked = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = json.clone();
        change(&mut changed["constant_channels"]);
        let verdict = check_plan(&input, &PlanFile::from_json(&changed).unwrap(), &CheckOptions::default());
        verdict.is_valid()
    };
    assert!(checked(&|_| ()));
    assert!(!checked(&|channels| channels["folded"] = 9999.into()));
    assert!(!checked(&|channels| channels["macs"]["after"] = 1.into()));
    assert!(!checked(&|channels| channels["weight_bytes"]["before"] = 1.into()));
    assert!(!checked(&|channels| channels["removed"] = 1.into()));
    assert!(!checked(&|channels| channels["tensors"][0]["gone"][0] = 2.into()));
    assert!(!checked(&|channels| channels["tensors"] = serde_json::json!([])));
    assert!(!checked(&|channels| *channels = serde_json::json!({"removed": 3})));
    // Without it all else speaks of another model.
    assert!(!checked(&|channels| *channels = serde_json::Value::Null));
}

/// The whole arena of a 32-bit device with TFLM's portable kernels: as they come, with our order and places, and
/// without constant channels as well.
const NEEDS: &[(&str, [u64; 3])] = &[
    ("models/mlperf_tiny_vww_96_int8", [100_688, 63_840, 50_272]),
    ("models/mobilenet_v2_035_96_int8", [292_736, 182_144, 182_144]),
    ("more-models/person_detect", [82_304, 63_888, 63_888]),
];

#[test]
fn real_models_need_less_in_tflm_and_compute_the_same() {
    let Some(models) = shared(".") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut faults: Vec<&str> = Vec::new();
    let (mut before, mut after, mut heads) = (Vec::new(), Vec::new(), Vec::new());
    for (name, needs) in NEEDS {
        let path = models.join(format!("{name}.tflite"));
        let input = load(path.to_str().unwrap()).unwrap();
        let kernels = serenity::runtimes::Kernels::Reference;
        let options = Options::for_input(&input);
        let options = Options { model: options.model.with_kernels(kernels), ..options };
        let [none, best] = [Rewrites::None, Rewrites::Channels]
            .map(|rewrites| optimize(&input, &Options { rewrites, ..options.clone() }).unwrap());
        let came = Need::with(input.tail(options.model), best.plan.before.needs()).bytes;
        println!("{name}: {came} -> {} -> {}", need(&none), need(&best));
        faults.extend(([came, need(&none), need(&best)] != *needs).then_some(*name));
        let written = folder.path().join(Path::new(name).file_name().unwrap()).with_extension("tflite");
        std::fs::write(&written, best.to_bytes().unwrap()).unwrap();
        heads.push(portable_head(&best.model, &best.plan).or(best.plan.after.arena).unwrap());
        before.push(path);
        after.push(written);
    }
    assert!(faults.is_empty(), "{faults:?} need something else");
    let inputs = Inputs { runs: 3, seed: 8 };
    if let Some(verdicts) = serenity_judges::tflm(&after, &inputs) {
        for (verdict, head) in verdicts.iter().zip(heads) {
            assert_eq!(verdict.accepted().head, head);
        }
    }
    let verdicts = serenity_judges::rewritten_tflite(Engine::Tflm, &before, &after, &inputs);
    for (path, verdict) in before.iter().zip(verdicts.into_iter().flatten()) {
        let is_same = matches!(verdict, Verdict::Accepted(Rewritten::Compared { identical: true, .. }));
        assert!(is_same, "{}: {verdict:?}", path.display());
    }
}
