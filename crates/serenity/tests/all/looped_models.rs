//! Real networks with windows as loops, judged by the outside: TensorFlow Lite for Microcontrollers and LiteRT run
//! every model before and after.

use crate::common::{exported, portable_head};
use serenity::ir::{Graph, OpId};
use serenity::loops::{Loop, Measured, RowLocal, instructions_of, instructions_on};
use serenity::pipeline::Need;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{Format, Input, Loops, Optimized, Options, Rewrites, load, optimize};
use serenity_judges::{Inputs, LiteRt, Tflm, Verdict, is_slow, on_all_cores, sample, shared, shared_files};
use std::path::{Path, PathBuf};

/// The most bytes that the head of TFLM, which has its portable kernels here, may take with plans for kernels of any
/// kind and for its own: what was reached so far. Behind it stands what the trial reached that loops began with: with
/// as many multiplications more, a longer search, and nothing but the head in mind. The whole arena decides between
/// plans, so a head may be larger where less persists besides it.
const MOST: &[(&str, [u64; 2])] = &[
    ("swiftnet-a", [263_568, 261_776]),    // 317,728
    ("swiftnet-a_int8", [69_040, 65_456]), // 80,352 and 77,088
    ("swiftnet-b", [118_288, 114_720]),
    ("swiftnet-b_int8", [32_256, 31_920]), // 46,624 and 69,536
    ("swiftnet-c", [62_720, 62_976]),
    ("swiftnet-c_int8", [29_792, 26_992]),            // 28,272 and 27,008
    ("mlperf_tiny_resnet8_int8", [17_472, 17_472]),   // 25,824 and 25,184
    ("mlperf_tiny_resnet8_float", [69_792, 69_792]),  // 103,200 and 100,384
    ("mlperf_tiny_vww_96_int8", [29_584, 28_544]),    // 29,600 and 28,544
    ("mlperf_tiny_kws_int8", [20_464, 9_792]),        // 11,648 and 9,792: not worth its time
    ("mobilenet_v2_035_96_int8", [32_240, 31_808]),   // 35,744 and 33,920
    ("densenet_2242_64_int8", [64_368, 43_888]),      // 64,384 and 45,088
    ("blazeface_front_128_int8", [245_760, 196_608]), // the same
    ("blazeface_front_128_float", [293_504, 289_440]), // 313,632 and 306,720
    ("hand_recrop", [808_000, 787_488]),              // 814,160 and 787,488
];

/// Of models that have many constant channels: the most bytes of the whole arena of a 32-bit device, which decides
/// between plans. Without these channels less of it persists, and the head may take a little more of what that leaves;
/// with them it must stay as small as it was.
const MOST_IN_ALL: &[(&str, [u64; 2])] = &[("mlperf_tiny_vww_96_int8", [48_496, 43_488])];

/// Models that take seconds to optimise.
const NETWORKS: &[&str] = &["swiftnet-a", "swiftnet-b", "swiftnet-c"];
const COLLECTED: &[&str] = &[
    "mlperf_tiny_resnet8_int8",
    "mlperf_tiny_resnet8_float",
    "mlperf_tiny_vww_96_int8",
    "mlperf_tiny_kws_int8",
    "mobilenet_v2_035_96_int8",
    "densenet_2242_64_int8",
    "blazeface_front_128_int8",
    "blazeface_front_128_float",
    "hand_recrop",
];

/// Models of other kinds: unsigned bytes, pictures too large to follow row by row, loops that help nothing, loops of their own.
const OTHERS: &[&str] = &[
    "face_landmark_192_int8",
    "microwakeword_okay_nabu",
    "mobilenet_v1_0.25_128_quant",
    "selfie_segmentation",
    "tflm_audio_preprocessor_int8",
    "tflm_mnist_lstm_int8",
    "ultraface_rfb_320_tf",
];

/// Every input is drawn from these, and run twice in a row.
const INPUTS: Inputs = Inputs { runs: 4, seed: 1 };

fn models(folder: &Path) -> Vec<PathBuf> {
    let both = |name: &&str| {
        [Precision::Float32, Precision::Int8]
            .map(|precision| exported(name, Format::TfLite, precision, folder))
    };
    let mut models: Vec<PathBuf> = NETWORKS.iter().flat_map(both).collect();
    models.extend(collected(COLLECTED));
    sample(models, 6)
}

/// Those of these models that are there.
fn collected(names: &[&str]) -> Vec<PathBuf> {
    names.iter().filter_map(|name| shared(&format!("models/{name}.tflite"))).collect()
}

/// A model without loops and with them.
struct Tried {
    /// Which model, by its place in the list.
    model: usize,
    kernels: Kernels,
    without: (Optimized, PathBuf),
    with: (Optimized, PathBuf),
}

impl Tried {
    fn new(model: usize, path: &Path, kernels: Kernels, folder: &Path) -> Self {
        let input = load(path.to_str().unwrap()).unwrap();
        let options = Options { model: MemoryModel::Tflm(kernels), ..Options::for_input(&input) };
        let written = |loops: Option<Loops>, how: &str| {
            let best = optimize(&input, &Options { loops, ..options.clone() }).unwrap();
            let file = folder.join(format!("{model}_{kernels:?}_{how}.tflite"));
            std::fs::write(&file, best.to_bytes().unwrap()).unwrap();
            (best, file)
        };
        let without = written(None, "without");
        let with = written(Some(Loops::default()), "with");
        Self { model, kernels, without, with }
    }

    /// What a device of 32 bits must have, head and tail.
    fn totals(&self) -> [u64; 2] {
        [&self.without, &self.with].map(|(best, _)| {
            let head = best.plan.after.needs();
            best.model.tail(best.plan.model).map_or(head, |tail| tail.needed(head).arm32)
        })
    }

    /// Must the outputs be those of the model as it came? What rewriting changes by rounding is not the loops' doing.
    fn is_exact(&self) -> bool {
        self.with.0.plan.rewrites.iter().all(|rewrite| rewrite.exact)
    }

    /// What was rewritten, with loops or without.
    fn rewrites(&self, with_loops: bool) -> Vec<(&str, &str)> {
        let (best, _) = if with_loops { &self.with } else { &self.without };
        best.plan.rewrites.iter().map(|rewrite| (rewrite.rule.as_str(), rewrite.text.as_str())).collect()
    }

    fn faults(&self, name: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let (plan, [before, after]) = (&self.with.0.plan, self.totals());
        // Within a hundredth, the smaller head counts.
        if after > before {
            faults.push(format!("{name}: {before} bytes in all without loops, {after} with them"));
        }
        if let Some(loops) = &plan.loops
            && loops.extra_macs as f64 > 0.1 * loops.macs as f64
        {
            faults.push(format!("{name}: {} more multiplications than {}", loops.extra_macs, loops.macs));
        }
        let head = portable_head(&self.with.0.model, plan);
        let (allowed, taken) = match most(MOST_IN_ALL, name, self.kernels) {
            Some(most) => (Some(most), Some(after)),
            None => (most(MOST, name, self.kernels), head),
        };
        if let (Some(most), Some(taken)) = (allowed, taken)
            && taken > most
        {
            faults.push(format!("{name}: {taken} bytes, more than {most}"));
        }
        faults
    }
}

/// What a table allows a model with these kernels.
fn most(table: &[(&str, [u64; 2])], name: &str, kernels: Kernels) -> Option<u64> {
    let (_, most) = table.iter().find(|(model, _)| name.split(',').next() == Some(model))?;
    Some(most[usize::from(kernels == Kernels::Reference)])
}

fn accepted<'v, T>(verdict: &'v Verdict<T>, name: &str, faults: &mut Vec<String>) -> Option<&'v T> {
    match verdict {
        Verdict::Accepted(report) => Some(report),
        Verdict::Refused(reason) => {
            faults.push(format!("{name}: refused: {reason}"));
            None
        }
    }
}

#[test]
fn loops_compute_the_same_in_the_memory_that_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let models = models(folder.path());
    let kernels = [Kernels::Any, Kernels::Reference];
    let cases: Vec<_> = (0..models.len()).flat_map(|index| kernels.map(|kernels| (index, kernels))).collect();
    let tried =
        on_all_cores(&cases, |&(index, kernels)| Tried::new(index, &models[index], kernels, folder.path()));
    let name = |tried: &Tried| {
        let model = models[tried.model].file_stem().unwrap().to_string_lossy().into_owned();
        format!("{model}, {:?}", tried.kernels)
    };
    let mut faults: Vec<String> = tried.iter().flat_map(|tried| tried.faults(&name(tried))).collect();
    for tried in &tried {
        let [without, with] = [&tried.without.0.plan, &tried.with.0.plan];
        let [before, after] = tried.totals();
        let (count, macs, extra) = with
            .loops
            .as_ref()
            .map_or((0, 1, 0), |loops| (loops.windows.len(), loops.macs, loops.extra_macs));
        println!(
            "{}: {} -> {} -> {} in {count} loops (+{:.1} %), in all {before} -> {after}",
            name(tried),
            with.before.needs(),
            without.after.needs(),
            with.after.needs(),
            100.0 * extra as f64 / macs.max(1) as f64,
        );
    }
    // Whose outputs they must be, by its place among all files: those of the model as it came or, if rewrites round, of
    // one that has the same without loops. Those may be for kernels of any kind.
    let model_of = |one: &Tried| {
        let same = |other: &Tried| other.model == one.model && other.rewrites(false) == one.rewrites(true);
        let of_rewritten = |at: usize| models.len() + 2 * at;
        if one.is_exact() { Some(one.model) } else { tried.iter().position(same).map(of_rewritten) }
    };
    let files = models.iter().chain(tried.iter().flat_map(|tried| [&tried.without.1, &tried.with.1]));
    let files: Vec<&Path> = files.map(PathBuf::as_path).collect();
    if let Some(verdicts) = serenity_judges::tflm(&files, &INPUTS) {
        for (tried, both) in tried.iter().zip(verdicts[models.len()..].chunks(2)) {
            let name = name(tried);
            let reports: Vec<&Tflm> =
                both.iter().filter_map(|verdict| accepted(verdict, &name, &mut faults)).collect();
            let [_, with] = reports[..] else { continue };
            let predicted = portable_head(&tried.with.0.model, &tried.with.0.plan);
            if Some(with.head) != predicted {
                faults.push(format!("{name}: predicted {predicted:?}, TFLM takes {}", with.head));
            }
            let expected = model_of(tried).and_then(|at| accepted(&verdicts[at], &name, &mut faults));
            if with.outputs.is_err() || expected.is_none_or(|expected| with.outputs != expected.outputs) {
                faults.push(format!("{name}: other outputs on TFLM: {:?}", with.outputs.as_ref().err()));
            }
        }
    }
    if let Some(verdicts) = serenity_judges::litert(&files, &INPUTS) {
        for (tried, both) in tried.iter().zip(verdicts[models.len()..].chunks(2)) {
            let name = name(tried);
            let reports: Vec<&LiteRt> =
                both.iter().filter_map(|verdict| accepted(verdict, &name, &mut faults)).collect();
            let [_, with] = reports[..] else { continue };
            let expected = model_of(tried).and_then(|at| accepted(&verdicts[at], &name, &mut faults));
            if expected.is_none_or(|expected| with.outputs != expected.outputs) {
                faults.push(format!("{name}: other outputs on LiteRT"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Models that lose channels otherwise: with all of them, loops are as good as ever.
#[test]
fn heads_of_models_with_all_their_channels_stay_as_small() {
    for path in collected(&MOST_IN_ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>()) {
        let input = load(path.to_str().unwrap()).unwrap();
        for kernels in sample([Kernels::Reference, Kernels::Any], 2) {
            let options = Options { model: MemoryModel::Tflm(kernels), ..Options::for_input(&input) };
            let loops = Some(Loops::default());
            let best = optimize(&input, &Options { loops, rewrites: Rewrites::None, ..options }).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy();
            let head = portable_head(&best.model, &best.plan);
            assert!(head <= most(MOST, &name, kernels) && head.is_some(), "{name}, {kernels:?}: {head:?}");
        }
    }
}

/// Paddings only move rows: a window of three convolutions with two paddings between them is not too wide to be
/// computed in stripes.
#[test]
fn paddings_inside_a_window_add_nothing_to_its_halo() {
    for path in collected(&["ultraface_rfb_320_tf"]) {
        let input = load(path.to_str().unwrap()).unwrap();
        let options = Options { model: MemoryModel::Tflm(Kernels::Reference), ..Options::for_input(&input) };
        let (best, _) = whole(&input, &options, Some(Loops::default()));
        assert!(best.plan.after.needs() <= 1_266_880, "{:?}", best.plan.after);
    }
}

/// Kernels that a plan can be for.
const KERNELS: &[Kernels] = &[
    Kernels::Any,
    Kernels::Reference,
    Kernels::CmsisNn,
    Kernels::CmsisNnMve,
    Kernels::EspNn,
    Kernels::EspNnS3,
];

/// What a device must have for a model with these options.
fn whole(input: &Input, options: &Options, loops: Option<Loops>) -> (Optimized, u64) {
    let best = optimize(input, &Options { loops, ..options.clone() }).unwrap();
    let need = Need::of(&best.model, &best.plan).bytes;
    (best, need)
}

/// Asking for loops never makes the whole arena larger: of all models of the collection if `SERENITY_SLOW` is set,
/// otherwise of a few that are quick.
#[test]
fn loops_never_enlarge_the_whole_arena() {
    let folder = tempfile::tempdir().unwrap();
    let mut models: Vec<PathBuf> = ["swiftnet-c", "mobilenet?resolution=64"]
        .map(|name| exported(name, Format::TfLite, Precision::Int8, folder.path()))
        .to_vec();
    if is_slow() {
        models.extend(["models", "more-models"].map(|folder| shared_files(folder, "tflite")).concat());
    } else {
        models.extend(collected(&["mlperf_tiny_kws_int8", "mlperf_tiny_resnet8_int8"]));
    }
    let cases: Vec<_> =
        models.iter().flat_map(|path| KERNELS.iter().map(move |&kernels| (path, kernels))).collect();
    let cases = sample(cases, 5);
    let faults = on_all_cores(&cases, |&(path, kernels)| {
        let input = load(path.to_str().unwrap()).ok()?;
        let options = Options { model: MemoryModel::Tflm(kernels), ..Options::for_input(&input) };
        input.can_be_counted(options.model).ok()?;
        let [(_, without), (with, needs)] =
            [None, Some(Loops::default())].map(|loops| whole(&input, &options, loops));
        let in_use = with.plan.after.peak <= with.plan.after.needs() && with.plan.least() > 0;
        let is_fine = needs <= without && (with.plan.loops.is_none() || in_use);
        (!is_fine)
            .then(|| format!("{}, {kernels:?}: {without} -> {needs}, {:?}", path.display(), with.plan.after))
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Keyword spotting would save 400 bytes for a third more instructions. Who must fit it somewhere gets the loops all the same.
#[test]
fn loops_are_worth_their_time() {
    for path in collected(&["mlperf_tiny_kws_int8"]) {
        let input = load(path.to_str().unwrap()).unwrap();
        let options = Options::for_input(&input);
        let (best, needs) = whole(&input, &options, Some(Loops::default()));
        assert_eq!((best.plan.loops, needs), (None, 27_376));
        let enough =
            Some(needs + best.model.tail(best.plan.model).unwrap().margin(best.plan.after.needs()) - 1);
        let (tight, fits) = whole(&input, &options, Some(Loops { enough, ..Loops::default() }));
        let loops = tight.plan.loops.unwrap();
        assert!(fits < needs && loops.extra_instructions * 10 > loops.instructions, "{fits} {loops:?}");
    }
}

/// The ops of a window, whether its loop carries rows, and whether its first rows are computed ahead.
type Looped<'a> = (&'a [u32], bool, bool);

/// What loops took under emulation, on TFLM with CMSIS-NN: instructions with them over those without.
#[test]
fn the_estimate_of_instructions_is_what_was_measured() {
    let measured: &[(&str, f64, &[Looped])] = &[
        (
            "mlperf_tiny_kws_int8",
            1.39,
            &[(&[1, 2], true, true), (&[3, 4], true, true), (&[5, 6], true, true), (&[7, 8], true, true)],
        ),
        ("mlperf_tiny_resnet8_int8", 1.13, &[(&[0, 1, 2, 3, 4, 5, 6, 7], true, true)]),
        (
            "../more-models/person_detect",
            1.17,
            &[
                (&[0, 1, 2, 3], true, false),
                (&[4, 5, 6, 7], true, false),
                (&[8, 9], true, false),
                (&[10], false, false),
            ],
        ),
    ];
    for (name, ratio, windows) in measured {
        for path in collected(&[name]) {
            let input = load(path.to_str().unwrap()).unwrap();
            let graph = input.graph();
            let loops = windows.iter().map(|&(ops, carries, peeled)| {
                let ops: Vec<OpId> = ops.iter().map(|&op| OpId(op)).collect();
                let enters = graph.op(ops[0]).inputs[0];
                Loop { ops, enters, carries, peeled, step: 1 }
            });
            let extra: u64 = loops.map(|one| one.extra_instructions(graph, Measured::CmsisNn).unwrap()).sum();
            let estimated = 1.0 + extra as f64 / instructions_of(graph) as f64;
            assert!((estimated - ratio).abs() < 0.02, "{name}: {estimated}, not {ratio}");
        }
    }
}

/// Millions of instructions of emitted C, as `benchmarks/cortex-m4/run` measures them, and of TFLM with portable kernels
/// and ESP-NN as multiples of CMSIS-NN's.
#[test]
fn the_estimates_of_other_kernels_are_what_was_measured() {
    let measured = [
        ("mlperf_tiny_kws_int8", 4.17, 5.80, 3.40),
        ("mlperf_tiny_resnet8_int8", 15.2, 3.71, 3.00),
        ("mlperf_tiny_vww_96_int8", 7.37, 4.25, 2.58),
        ("mobilenet_v2_035_96_int8", 18.7, 4.36, 2.59),
        ("../more-models/person_detect", 10.8, 4.30, 2.46),
    ];
    for (name, emitted, portable, esp_nn) in measured {
        for path in collected(&[name]) {
            let input = load(path.to_str().unwrap()).unwrap();
            let model = MemoryModel::Tflm(Kernels::Emitted);
            let found = optimize(&input, &Options { model, ..Options::for_input(&input) }).unwrap();
            let on = |library| instructions_on(library, input.graph()).unwrap() as f64;
            let estimates = [
                (instructions_on(Measured::Emitted, found.model.graph()).unwrap() as f64 / 1e6, emitted),
                (on(Measured::Reference) / on(Measured::CmsisNn), portable),
                (on(Measured::EspNn) / on(Measured::CmsisNn), esp_nn),
            ];
            for (estimated, measured) in estimates {
                let off: f64 = estimated / measured - 1.0;
                assert!(off.abs() < 0.17, "{name}: {estimated}, not {measured}");
            }
        }
    }
}

/// The larger the budget, the fewer multiplications; channels that are constant are left out whenever that is fewer.
#[test]
fn a_looser_budget_never_multiplies_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut models =
        vec![exported("mobilenet?resolution=64", Format::TfLite, Precision::Int8, folder.path())];
    models.extend(collected(&["mlperf_tiny_vww_96_int8", "mlperf_tiny_resnet8_int8"]));
    on_all_cores(&sample(models, 2), |path| {
        let input = load(path.to_str().unwrap()).unwrap();
        let options = Options::for_input(&input);
        let (_, flat) = whole(&input, &options, None);
        let mut fewest = u64::MAX;
        for percent in (35..=110).step_by(if is_slow() { 5 } else { 25 }) {
            let enough = Some(flat * percent / 100);
            let (best, needs) = whole(&input, &options, Some(Loops { enough, ..Loops::default() }));
            let macs = match &best.plan.loops {
                Some(loops) => loops.macs + loops.extra_macs,
                None => macs_of(best.model.graph()),
            };
            assert!(macs <= fewest, "{}: {macs} with {enough:?}, {fewest} with less", path.display());
            assert!(needs <= flat, "{}: {needs} with {enough:?}", path.display());
            fewest = macs;
        }
    });
}

fn macs_of(graph: &Graph) -> u64 {
    graph.op_ids().filter_map(|op| RowLocal::of(graph, op)).map(|local| local.macs).sum()
}

/// Whatever a model is, asking for loops gives a model that runs as before in the memory that is predicted, and no more of it.
#[test]
fn models_in_which_loops_help_little_are_none_the_worse() {
    let folder = tempfile::tempdir().unwrap();
    let models = sample(collected(OTHERS), 4);
    let kernels = [Kernels::Any, Kernels::Reference];
    let cases: Vec<_> = models.iter().flat_map(|path| kernels.map(|kernels| (path, kernels))).collect();
    let looped = on_all_cores(&cases, |&(path, kernels)| {
        let input = load(path.to_str().unwrap()).unwrap();
        let model = MemoryModel::Tflm(kernels);
        // A model that is not rewritten computes the same bit for bit.
        let wanted = Options { model, rewrites: Rewrites::None, ..Options::for_input(&input) };
        let wanted = Options { loops: Some(Loops::default()), ..wanted };
        let best = optimize(&input, &wanted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = format!("{}_{kernels:?}.tflite", path.file_stem().unwrap().to_string_lossy());
        let file = folder.path().join(name);
        std::fs::write(&file, best.to_bytes().unwrap()).unwrap();
        (best, file)
    });
    let files = models.iter().chain(looped.iter().map(|(_, file)| file));
    let files: Vec<&Path> = files.map(PathBuf::as_path).collect();
    let Some(verdicts) = serenity_judges::tflm(&files, &Inputs::default()) else { return };
    let (originals, others) = verdicts.split_at(models.len());
    for ((best, file), (number, verdict)) in looped.iter().zip(others.iter().enumerate()) {
        let (name, plan) = (file.file_stem().unwrap().to_string_lossy(), &best.plan);
        let [before, after] = [plan.before, plan.after].map(|footprint| footprint.needs());
        println!("{name}: {before} -> {after}, {:?} loops", plan.loops.as_ref().map(|l| l.windows.len()));
        match (&originals[number / kernels.len()], verdict) {
            (Verdict::Accepted(original), Verdict::Accepted(looped)) => {
                assert_eq!(Some(looped.head), portable_head(&best.model, plan), "{name}");
                assert_eq!(looped.outputs, original.outputs, "{name}");
            }
            (Verdict::Refused(_), Verdict::Refused(_)) => {}
            (_, verdict) => panic!("{name}: {verdict:?}"),
        }
    }
}
