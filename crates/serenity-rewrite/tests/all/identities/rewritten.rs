//! Rewritten models against the original: random ones, random sets of patches, random orders of addition.

use crate::identities::judged::compared;
use crate::identities::random_models::{Recipe, Rng, random_model};
use serenity_ir::{Graph, Model, TensorId};
use serenity_judges::is_slow;
use serenity_rewrite::{Patch, Settings, Sums, apply, apply_to_model, described, find, rules};
use std::collections::{BTreeMap, BTreeSet};

/// Models that are drawn; `SERENITY_SLOW` asks for more of them.
const MODELS: u64 = 250;
const MODELS_IF_SLOW: u64 = 5_000;

fn models() -> u64 {
    if is_slow() { MODELS_IF_SLOW } else { MODELS }
}

/// What happened to all models together.
#[derive(Default)]
struct Tally {
    models_with_patches: u64,
    rules: BTreeMap<&'static str, u64>,
    /// What sets that leave something else than before make of models, and the patches.
    changed: Vec<(Model, Model)>,
    sets: Vec<Vec<Patch>>,
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

fn try_model(recipe: Recipe, tally: &mut Tally) {
    let model = random_model(recipe);
    let graph = described(&model).unwrap();
    let settings = Settings::default();
    let patches = find(&graph, &settings);
    if patches.is_empty() {
        return;
    }
    tally.models_with_patches += 1;
    let mut rng = Rng::new(recipe.seed ^ 0x5eed);
    for set in sets(&patches, &mut rng) {
        let set = with_fitting_orders(&graph, set, &mut rng);
        let rewritten = apply_to_model(&model, &set, &settings).unwrap();
        check_structure(&graph, rewritten.graph());
        check_types(&graph, rewritten.graph());
        if rewritten.graph().ops().len() == model.graph().ops().len()
            && rewritten.operands() == model.operands()
        {
            continue;
        }
        for patch in &set {
            *tally.rules.entry(patch.rule).or_default() += 1;
        }
        tally.changed.push((model.clone(), rewritten));
        tally.sets.push(set);
    }
}

/// How many sets have a patch that is not exact. The others must leave every bit as it is; these, all but the last of floats.
fn judge(tally: &Tally) -> u64 {
    let is_exact = |set: &Vec<Patch>| set.iter().all(|patch| patch.exact);
    let verdicts = compared(&tally.changed).unwrap_or_default();
    for ((set, (before, _)), (across, identical)) in tally.sets.iter().zip(&tally.changed).zip(verdicts) {
        let error = across.difference / across.largest.max(1.0);
        let is_same = identical || !is_exact(set) && error < 1e-5;
        assert!(is_same, "{}: {error} {set:#?}", before.graph().name());
    }
    tally.sets.iter().filter(|set| !is_exact(set)).count() as u64
}

fn tried(is_int8: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..models() {
        try_model(Recipe { seed, is_int8, for_litert: true }, &mut tally);
        // What is made of models that no runtime takes is sound as well.
        try_model(Recipe { seed, is_int8, for_litert: false }, &mut Tally::default());
    }
    println!("{} sets change {} models: {:?}", tally.sets.len(), tally.models_with_patches, tally.rules);
    tally
}

#[test]
fn rewritten_floats_are_the_same_up_to_rounding() {
    let tally = tried(false);
    assert!(tally.models_with_patches > models() * 3 / 4, "{}", tally.models_with_patches);
    let rounding = judge(&tally);
    assert!(rounding > models(), "{rounding}");
    for rule in rules() {
        assert!(tally.rules[rule.name()] > models() / 10, "{}", rule.name());
    }
}

#[test]
fn rewritten_integers_are_the_same_bit_for_bit() {
    let tally = tried(true);
    assert!(tally.models_with_patches > models() / 2, "{}", tally.models_with_patches);
    assert_eq!(judge(&tally), 0, "integers are not rounded twice unless asked");
    for rule in ["concat-sinking", "kernel-partitioning", "pad-folding"] {
        assert!(tally.rules[rule] > models() / 10, "{rule}");
    }
}
