//! Random networks as frameworks with channels first export them: every convolution stands between two `TRANSPOSE`. Without those
//! that undo each other, runtimes must compute the same, bit for bit.

use crate::random_networks::{Author, Random};
use serde_json::json;
use serenity::ir::{ElementType, Operand, TensorId};
use serenity::pipeline::stages::rewrite::cancelled_transposes;
use serenity::pipeline::{rewrite, whole_need};
use serenity::plan_check::CheckOptions;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::{Format, Input, Options, PlanFile, ReadOptions, Rewrites, check_plan, load_bytes, optimize};
use serenity_judges::{Engine, Inputs, Rewritten, Verdict, is_slow, on_all_cores};
use std::path::{Path, PathBuf};

const TFLM: MemoryModel = MemoryModel::Tflm(Kernels::Any);

/// Networks that are drawn; `SERENITY_SLOW` asks for more of them.
const NETWORKS: u64 = 60;
const NETWORKS_IF_SLOW: u64 = 600;

/// No image becomes larger.
const MOST_ELEMENTS: u64 = 3_000;

type Permutation = [usize; 4];

fn inverse(permutation: Permutation) -> Permutation {
    let mut inverse = permutation;
    permutation.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
    inverse
}

fn network(random: &mut Random, dtype: ElementType) -> Vec<u8> {
    let mut author = Author::new(random, dtype);
    let size = [author.random.between(4, 9) as u64, author.random.between(3, 8) as u64];
    author.input(size);
    let to_first = author.random.of(&[[0, 3, 1, 2], [0, 3, 1, 2], [0, 3, 1, 2], [0, 2, 1, 3], [0, 3, 2, 1]]);
    let input = author.images[0];
    transposed(&mut author, input, to_first);
    // Only convolutions read channels last.
    author.images.remove(0);
    for _ in 0..author.random.between(4, 12) {
        layer(&mut author, to_first);
    }
    author.images.insert(0, input);
    for end in author.unread() {
        let last = transposed(&mut author, end, inverse(to_first));
        author.unary(last);
    }
    author.finish(60)
}

/// The image in another layout.
fn transposed(author: &mut Author<'_>, x: TensorId, by: Permutation) -> TensorId {
    let (shape, to) = (author.shape(x), author.quantization(x));
    let operands = vec![Operand::Activation(x), author.int32(&[4], &by.map(|axis| axis as i64))];
    author.op("TRANSPOSE", operands, json!({"permutation": by}), &by.map(|axis| shape[axis]), to);
    author.last()
}

/// One more layer, mostly over the last image.
fn layer(author: &mut Author<'_>, to_first: Permutation) {
    let x = if author.random.one_in(4) { author.random.of(&author.images) } else { author.last() };
    if author.shape(x).iter().product::<u64>() > MOST_ELEMENTS {
        return;
    }
    match author.random.below(14) {
        0..=3 => convolution(author, x, to_first),
        4..=5 => author.together(x),
        6..=7 => side_by_side(author, x),
        8..=9 => author.pad(x),
        10 => {
            let kind = author.random.of(&["MUL", "ADD", "SUB", "PRELU"]);
            let of = spread(author, x);
            author.with_constant(x, kind, &of);
        }
        11 if author.quantization(x).is_some() => {
            let (shape, to) = (author.shape(x), author.any_quantization());
            author.op("QUANTIZE", vec![Operand::Activation(x)], json!({}), &shape, to);
        }
        _ => author.unary(x),
    }
}

/// The shape of a constant that is spread over the image: one number, one per channel, or one of each along any axes.
fn spread(author: &mut Author<'_>, x: TensorId) -> Vec<u64> {
    let mut of: Vec<u64> = author.shape(x).to_vec();
    for size in &mut of {
        if author.random.one_in(2) {
            *size = 1;
        }
    }
    of.drain(..author.random.below(4));
    of
}

/// A convolution with channels last, and now and then a way back that is not the one it came.
fn convolution(author: &mut Author<'_>, x: TensorId, to_first: Permutation) {
    let known = author.images.len();
    let last = transposed(author, x, inverse(to_first));
    let is_depthwise = author.random.one_in(2);
    author.convolution(last, is_depthwise);
    let back = if author.random.one_in(20) { [0, 1, 3, 2] } else { to_first };
    let made = author.last();
    transposed(author, made, back);
    // Later layers read channels first.
    author.images.drain(known..author.images.len() - 1);
}

/// The image beside one of the same shape, along any axis.
fn side_by_side(author: &mut Author<'_>, x: TensorId) {
    let (mut shape, to) = (author.shape(x), author.quantization(x));
    let is_alike = |&other: &TensorId| author.shape(other) == shape && author.quantization(other) == to;
    let alike: Vec<TensorId> = author.images.iter().copied().filter(is_alike).collect();
    let other = author.random.of(&alike);
    let axis = author.random.between(1, 3);
    shape[axis as usize] *= 2;
    let written = if author.random.one_in(2) { axis } else { axis - 4 };
    let attributes = json!({"axis": written, "activation": "none"});
    author.op(
        "CONCATENATION",
        vec![Operand::Activation(x), Operand::Activation(other)],
        attributes,
        &shape,
        to,
    );
}

/// A network, and the files that must compute the same.
#[derive(Default)]
struct Tried {
    pairs: Vec<(PathBuf, PathBuf)>,
    transposes: usize,
    removed: usize,
    faults: Vec<String>,
}

impl Tried {
    fn add(&mut self, before: &Path, after: PathBuf, bytes: &[u8]) {
        std::fs::write(&after, bytes).unwrap();
        self.pairs.push((before.to_path_buf(), after));
    }
}

fn transposes(input: &Input) -> usize {
    input.graph().ops().iter().filter(|op| op.kind.as_str() == "TRANSPOSE").count()
}

fn tried(seed: u64, folder: &Path) -> Tried {
    let dtype = if seed.is_multiple_of(2) { ElementType::Int8 } else { ElementType::Float32 };
    let bytes = network(&mut Random(seed << 32), dtype);
    let before = folder.join(format!("{seed}.tflite"));
    std::fs::write(&before, &bytes).unwrap();
    let input = load_bytes("random.tflite", bytes, Format::TfLite, &ReadOptions::default()).unwrap();
    let mut tried = Tried { transposes: transposes(&input), ..Tried::default() };
    let mut current: Option<Input> = None;
    loop {
        let last = current.as_ref().unwrap_or(&input);
        let patches = cancelled_transposes(last, TFLM);
        if patches.is_empty() {
            break;
        }
        current = Some(rewrite(last, &patches, TFLM).unwrap());
    }
    let Some(last) = current else { return tried };
    tried.removed = tried.transposes - transposes(&last);
    tried.add(&before, folder.join(format!("{seed}_fewer.tflite")), &last.file.bytes());
    if seed.is_multiple_of(3) {
        let (bytes, faults) = optimized(&input);
        tried.add(&before, folder.join(format!("{seed}_optimized.tflite")), &bytes);
        tried.faults.extend(faults.into_iter().map(|fault| format!("network {seed}: {fault}")));
    }
    tried
}

/// What all stages together make of the network, and what is wrong with that.
fn optimized(input: &Input) -> (Vec<u8>, Vec<String>) {
    // More than that keeps floats only up to rounding.
    let options = Options { rewrites: Rewrites::Exact, ..Options::for_input(input) };
    let best = optimize(input, &options).unwrap();
    let as_it_is = optimize(input, &Options { rewrites: Rewrites::None, ..options }).unwrap();
    let needs = [&best, &as_it_is].map(|one| whole_need(&one.model, &one.plan));
    let plan = PlanFile::from_json(&best.plan.to_json()).unwrap();
    let verdict = check_plan(input, &plan, &CheckOptions::default());
    let mut faults: Vec<String> = verdict.problems().map(ToOwned::to_owned).collect();
    if needs[0] > needs[1] {
        faults.push(format!("needs {} bytes, and {} with all transpositions", needs[0], needs[1]));
    }
    (best.to_bytes().unwrap(), faults)
}

#[test]
fn runtimes_compute_the_same_without_transposes_that_undo_each_other() {
    let networks = if is_slow() { NETWORKS_IF_SLOW } else { NETWORKS };
    let seeds: Vec<u64> = (0..networks).collect();
    let (mut faults, mut drawn, mut removed, mut changed) = (Vec::new(), 0, 0, 0);
    // Some at a time, so that files do not pile up.
    for seeds in seeds.chunks(250) {
        let folder = tempfile::tempdir().unwrap();
        let all = on_all_cores(seeds, |&seed| tried(seed, folder.path()));
        drawn += all.iter().map(|tried| tried.transposes).sum::<usize>();
        removed += all.iter().map(|tried| tried.removed).sum::<usize>();
        changed += all.iter().filter(|tried| tried.removed > 0).count();
        faults.extend(all.iter().flat_map(|tried| tried.faults.clone()));
        faults.extend(judged(&all));
    }
    println!("{removed} of {drawn} transpositions removed, from {changed} of {networks} networks");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(changed as u64 * 2 > networks && removed > 2 * changed, "{removed} from {changed}");
}

/// What the runtimes have against the files.
fn judged(all: &[Tried]) -> Vec<String> {
    let (before, after): (Vec<&PathBuf>, Vec<&PathBuf>) =
        all.iter().flat_map(|tried| &tried.pairs).map(|(before, after)| (before, after)).unzip();
    let mut faults = Vec::new();
    for engine in [Engine::Tflm, Engine::LiteRtReference] {
        let inputs = Inputs { runs: 1, seed: 3 };
        let verdicts = serenity_judges::rewritten_tflite(engine, &before, &after, &inputs);
        for (after, verdict) in after.iter().zip(verdicts.into_iter().flatten()) {
            if !matches!(verdict, Verdict::Accepted(Rewritten::Compared { identical: true, .. })) {
                let name = after.file_name().unwrap_or_default().display();
                faults.push(format!("{engine:?}, {name}: {verdict:?}"));
            }
        }
    }
    faults
}
