//! The search over variants is a list: what was tried is what the list says, and nothing that was tried is better than
//! what was taken.

use serenity::pipeline::{Attempt, Channels, Need, NoPlan, variants};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{Format, Input, Loops, Options, ReadOptions, Rewrites, export, load_bytes, optimize};
use serenity_judges::sample;

fn exported(network: &str, precision: Precision) -> Input {
    let bytes = export(network, Format::TfLite, precision).unwrap().bytes;
    load_bytes("net.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap()
}

fn for_kernels(input: &Input, kernels: Kernels) -> Options {
    let model = MemoryModel::Tflm(kernels);
    Options { model, loops: Some(Loops::default()), ..Options::for_input(input) }
}

#[test]
fn every_variant_of_the_list_is_tried_and_the_best_is_taken() {
    let cases = [
        ("swiftnet-c", Precision::Int8, Kernels::Reference),
        ("swiftnet-c", Precision::Int8, Kernels::Any),
        ("swiftnet-c", Precision::Float32, Kernels::Reference),
        ("swiftnet-c", Precision::Float32, Kernels::Any),
        ("mobilenet?resolution=32", Precision::Int8, Kernels::Reference),
        ("mobilenet?resolution=32", Precision::Int8, Kernels::Any),
    ];
    for (network, precision, kernels) in sample(cases, 5) {
        let input = exported(network, precision);
        let options = for_kernels(&input, kernels);
        let found = optimize(&input, &options).unwrap();
        let tried: Vec<_> = found.attempts.iter().map(|attempt| attempt.variant).collect();
        assert_eq!(tried, variants(&input, &options), "{network} {kernels}");

        let need = Need::of(&found.model, &found.plan);
        let chosen: Vec<&Attempt> = found.attempts.iter().filter(|attempt| attempt.is_chosen).collect();
        assert_eq!(chosen.len(), 1, "{network} {kernels}");
        assert_eq!(chosen[0].outcome.as_ref().map(|figures| figures.need), Ok(need));
        assert_eq!(chosen[0].variant.loops, found.plan.loops.is_some());
        assert_eq!(chosen[0].variant.channels == Channels::Needed, found.plan.constant_channels.is_some());
        for attempt in &found.attempts {
            let least = attempt.outcome.as_ref().map_or(u64::MAX, |figures| figures.need.bytes);
            assert!(need.bytes <= least, "{network} {kernels}: {} needs {least}", attempt.variant);
        }
    }
}

#[test]
fn the_list_follows_what_is_asked_for() {
    let input = exported("swiftnet-c", Precision::Int8);
    let count = |options: &Options| variants(&input, options).len();
    let any = Options { loops: None, ..for_kernels(&input, Kernels::Any) };
    // All channels or fewer; no rewrites, exact ones, all.
    assert_eq!(count(&any), 2 * 3);
    assert_eq!(count(&Options { rewrites: Rewrites::Exact, ..any.clone() }), 2 * 2);
    assert_eq!(count(&Options { rewrites: Rewrites::Channels, ..any.clone() }), 2);
    assert_eq!(count(&Options { rewrites: Rewrites::None, ..any.clone() }), 1);
    // Also for any kernels, if some are named; with loops, rewritten and as it is.
    let reference = for_kernels(&input, Kernels::Reference);
    assert_eq!(count(&reference), 2 * (2 * 3) + 2 * (2 * 2));
    // A runtime that places tensors by itself runs no loops.
    assert_eq!(count(&Options { model: MemoryModel::Litert, ..reference }), 2 * 3);
}

#[test]
fn a_model_that_fits_gets_no_loops() {
    let input = exported("mobilenet?resolution=32", Precision::Int8);
    let loops = Some(Loops { enough: Some(1 << 30), ..Loops::default() });
    let found = optimize(&input, &Options { loops, ..for_kernels(&input, Kernels::Any) }).unwrap();
    let looped = found.attempts.iter().filter(|attempt| attempt.variant.loops);
    let reasons: Vec<_> = looped.map(|attempt| attempt.outcome.as_ref().err().copied()).collect();
    let expected = [Some(NoPlan::FitsAlready), Some(NoPlan::NoChannel), Some(NoPlan::FewerChannels)];
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| expected.contains(reason)), "{reasons:?}");
}
