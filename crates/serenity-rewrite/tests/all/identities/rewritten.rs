//! Rewritten models against the original: ten thousand random ones, random sets of patches, random orders of addition.

use crate::identities::interpreter::{Data, run, run_in_doubles};
use crate::identities::random_models::{Recipe, Rng, random_inputs, random_model};
use serenity_ir::{Graph, TensorId};
use serenity_rewrite::{Patch, Settings, Sums, apply, apply_to_model, described, find, rules};
use std::collections::{BTreeMap, BTreeSet};

const MODELS: u64 = 5_000;

/// What happened to all models together.
#[derive(Default, Debug)]
struct Tally {
    models_with_patches: u64,
    sets: u64,
    /// Sets that left something else than before.
    changing_sets: u64,
    /// Sets with a patch that is not exact.
    rounding_sets: u64,
    rules: BTreeMap<&'static str, u64>,
    largest_error: f64,
}

/// Sets to try: all, one, one rule, and some; each adds up in an order of its own.
fn sets(patches: &[Patch], rng: &mut Rng) -> Vec<Vec<Patch>> {
    let (one, rule) = (rng.choose(patches), rng.choose(patches).rule);
    let of_rule = patches.iter().filter(|patch| patch.rule == rule).cloned().collect();
    let some = patches.iter().filter(|_| rng.one_in(2)).cloned().collect();
    let mut sets = vec![patches.to_vec(), vec![one], of_rule, some];
    sets.sort_by_key(Vec::len);
    sets.dedup();
    for patch in sets.iter_mut().flatten() {
        let count = rng.size(2, 6) as usize;
        *patch = patch.clone().with_order(permutation(count, rng));
    }
    sets
}

fn permutation(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut left: Vec<usize> = (0..count).collect();
    (0..count).map(|_| left.swap_remove(rng.size(0, left.len() as u64 - 1) as usize)).collect()
}

/// Orders of just the right length, where the patches add up.
fn with_fitting_orders(graph: &Graph, patches: Vec<Patch>, rng: &mut Rng) -> Vec<Patch> {
    let settings = Settings { sums: Sums::Accumulator, rounds_integers: true };
    let terms = apply(graph, &patches, &settings).unwrap().terms;
    let fit = |patch: Patch| match terms.get(&patch.op()) {
        Some(terms) if !rng.one_in(8) => patch.with_order(permutation(terms.len(), rng)),
        _ => patch,
    };
    patches.into_iter().map(fit).collect()
}

/// All that must hold of any rewritten graph, whatever it computes.
pub(crate) fn check_structure(old: &Graph, new: &Graph) {
    assert_eq!((old.inputs(), old.outputs()), (new.inputs(), new.outputs()));
    assert!(new.op_ids().eq(new.file_order()), "the ops are listed in an order that can run");
    for id in new.tensor_ids() {
        let tensor = new.tensor(id);
        let is_old = id.index() < old.tensors().len();
        let is_touched = new.producer(id).is_some() || new.is_input(id);
        let is_wanted = !new.consumers(id).is_empty() || new.is_output(id);
        if is_old && is_touched {
            assert_eq!(tensor, old.tensor(id), "an old tensor stays as it is");
        } else if is_old {
            assert_eq!(
                (&tensor.name, tensor.bytes),
                (&old.tensor(id).name, 0),
                "what nobody writes is retired"
            );
            assert!(!is_wanted, "`{}` is read, but nobody writes it", tensor.name);
        } else {
            assert!(is_touched && is_wanted, "`{}` is new, and superfluous", tensor.name);
            let packed = tensor.dtype.as_ref().unwrap().bytes_of(tensor.shape.as_ref().unwrap());
            assert_eq!(Some(tensor.bytes), packed);
        }
        let was_unwanted = is_old && old.consumers(id).is_empty() && !old.is_output(id);
        assert!(is_wanted || !is_touched || new.is_input(id) || was_unwanted, "`{}` is dead", tensor.name);
    }
    let names: BTreeSet<&str> = new.ops().iter().map(|op| op.name.as_str()).collect();
    assert_eq!(names.len(), new.ops().len(), "every op has a name of its own");
}

/// New tensors stand for the same numbers as what they are parts of.
fn check_types(old: &Graph, new: &Graph) {
    for op in new.ops() {
        let output = new.tensor(op.outputs[0]);
        if op.kind.as_str() == "CONCATENATION" && op.name.ends_with("/join") {
            for &input in &op.inputs {
                assert_eq!(new.tensor(input).quantization, output.quantization, "{}", op.name);
            }
        }
    }
    let of_old: BTreeMap<&str, TensorId> =
        old.tensor_ids().map(|id| (old.tensor(id).name.as_str(), id)).collect();
    for tensor in &new.tensors()[old.tensors().len()..] {
        let (whole, _) = tensor.name.rsplit_once('/').unwrap();
        let whole = old.tensor(of_old[whole]);
        assert_eq!(
            (&whole.dtype, &whole.quantization),
            (&tensor.dtype, &tensor.quantization),
            "{}",
            tensor.name
        );
    }
}

/// The largest difference, relative to the largest number in the same output, or to 1 if that is less: a sum of large terms may be
/// small, but it is rounded as they are.
fn error(wanted: &[Data], found: &[Data]) -> f64 {
    assert_eq!(wanted.len(), found.len());
    let of_output = |(wanted, found): (&Data, &Data)| {
        assert_eq!(wanted.shape(), found.shape());
        let (wanted, found) = (numbers(wanted), numbers(found));
        let largest = wanted.iter().fold(1.0, |largest: f64, number| largest.max(number.abs()));
        wanted.iter().zip(found).map(|(wanted, found)| (wanted - found).abs() / largest).fold(0.0, f64::max)
    };
    wanted.iter().zip(found).map(of_output).fold(0.0, f64::max)
}

fn numbers(data: &Data) -> Vec<f64> {
    match data.clone().more_precisely() {
        Data::Double(grid) => grid.values,
        other => panic!("not floats: {other:?}"),
    }
}

fn check_model(recipe: Recipe, tally: &mut Tally) {
    let model = random_model(recipe);
    let graph = described(&model).unwrap();
    let settings = Settings::default();
    let patches = find(&graph, &settings);
    if patches.is_empty() {
        return;
    }
    tally.models_with_patches += 1;
    let mut rng = Rng::new(recipe.seed ^ 0x5eed);
    let inputs = random_inputs(&model, recipe.seed);
    let wanted = run(&model, &inputs);
    let precise = if recipe.is_int8 { Vec::new() } else { run_in_doubles(&model, &inputs) };
    for set in sets(&patches, &mut rng) {
        let set = with_fitting_orders(&graph, set, &mut rng);
        let rewritten = apply_to_model(&model, &set, &settings).unwrap();
        check_structure(&graph, rewritten.graph());
        check_types(&graph, rewritten.graph());
        tally.sets += 1;
        if rewritten.graph().ops().len() == model.graph().ops().len()
            && rewritten.operands() == model.operands()
        {
            continue;
        }
        tally.changing_sets += 1;
        for patch in &set {
            *tally.rules.entry(patch.rule).or_default() += 1;
        }
        if set.iter().all(|patch| patch.exact) {
            let found = run(&rewritten, &inputs);
            assert!(found == wanted, "{recipe:?} {set:#?}");
            continue;
        }
        assert!(!recipe.is_int8, "{recipe:?}: integers are not rounded twice unless asked: {set:#?}");
        tally.rounding_sets += 1;
        let error_in_doubles = error(&precise, &run_in_doubles(&rewritten, &inputs));
        assert!(error_in_doubles < 1e-12, "{recipe:?}: {error_in_doubles} {set:#?}");
        let error = error(&wanted, &run(&rewritten, &inputs));
        assert!(error < 1e-5, "{recipe:?}: {error} {set:#?}");
        tally.largest_error = tally.largest_error.max(error);
    }
}

fn check_models(is_int8: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..MODELS {
        check_model(Recipe { seed, is_int8, for_litert: false }, &mut tally);
    }
    println!("{tally:#?}");
    tally
}

#[test]
fn rewritten_floats_are_the_same_up_to_rounding() {
    let tally = check_models(false);
    assert!(tally.models_with_patches > MODELS * 4 / 5);
    assert!(tally.rounding_sets > MODELS);
    for rule in rules() {
        assert!(tally.rules[rule.name()] > 500, "{}", rule.name());
    }
}

#[test]
fn rewritten_integers_are_the_same_bit_for_bit() {
    let tally = check_models(true);
    assert!(tally.models_with_patches > MODELS / 2);
    assert_eq!(tally.rounding_sets, 0);
    for rule in ["concat-sinking", "kernel-partitioning", "pad-folding"] {
        assert!(tally.rules[rule] > 500, "{rule}");
    }
}
