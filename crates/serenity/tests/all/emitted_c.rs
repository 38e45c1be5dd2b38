//! C without an interpreter, judged by the outside: compilers make programs of it, and TensorFlow Lite for
//! Microcontrollers runs the model on the same inputs.

use crate::common::{NETWORKS, exported};
use serenity::code::{check_covered, emit_c};
use serenity::emit::Emitted;
use serenity::ir::OpId;
use serenity::runtimes::{Kernels, MemoryModel, overlaps};
use serenity::zoo::Precision;
use serenity::{Format, Loops, Options, Plan, load, optimize};
use serenity_judges::{Need, is_slow, on_all_cores, python, sample, shared, skip};
use serenity_verify::{Compiler, Verification, VerifyOptions, verify_emitted};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every input is drawn from these, and run twice in a row.
const RUNS: u32 = 8;

/// What floats may be off: kernels add up in another order.
const FLOAT: f64 = 1e-5;

/// Models of the collection that take seconds, and those that take minutes.
const QUICK: &[&str] = &[
    "mlperf_tiny_kws_int8",
    "mlperf_tiny_resnet8_int8",
    "microwakeword_okay_nabu",
    "tflm_mnist_lstm_int8",
    "tflm_audio_preprocessor_int8",
];
const SLOW: &[&str] = &[
    "mlperf_tiny_vww_96_int8",
    "mobilenet_v2_035_96_int8",
    "blazeface_front_128_int8",
    "densenet_2242_64_int8",
    "face_landmark_192_int8",
    "nasnet_a_n1_f192_96_int8",
    "nasnet_mobile_224_int8",
    "mlperf_tiny_resnet8_float",
    "blazeface_front_128_float",
    "densenet_2242_64_float",
    "nasnet_a_n1_f192_96_float",
    "hand_recrop",
];

/// Is this command here? If not, that is said.
pub(crate) fn has(command: &str) -> bool {
    let asked = Command::new(command).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_here = asked.is_ok_and(|status| status.success());
    if !is_here {
        let need = if matches!(command, "cc" | "gcc" | "g++") { Need::Compiler } else { Need::Cross };
        skip(need, format!("there is no {command}"));
    }
    is_here
}

/// The C of a model in a folder beside it.
pub(crate) fn emitted(model: &Path, loops: bool) -> (PathBuf, Emitted) {
    emitted_for(Kernels::Emitted, model, loops)
}

fn emitted_for(kernels: Kernels, model: &Path, loops: bool) -> (PathBuf, Emitted) {
    let input = load(model.to_str().unwrap()).unwrap();
    let options = Options {
        model: MemoryModel::Tflm(kernels),
        loops: loops.then(Loops::default),
        ..Options::for_input(&input)
    };
    let found = optimize(&input, &options).unwrap();
    let code = emit_c(&found.model, &found.plan, "net").unwrap();
    let folder = model.with_extension(format!("{kernels}-{}", if loops { "loops" } else { "c" }));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in &code.files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    (folder, code)
}

fn compared(model: &Path, folder: &Path, compiler: &Compiler, runs: u32) -> Verification {
    let options = VerifyOptions { runs, python: python(), ..VerifyOptions::default() };
    verify_emitted(model.to_str().unwrap(), folder.to_str().unwrap(), compiler, &options)
        .unwrap_or_else(|error| panic!("{} with {compiler:?}: {error}", model.display()))
}

pub(crate) fn with(command: &str, flags: &str) -> Compiler {
    let flags = flags.split_whitespace().map(str::to_owned).collect();
    Compiler { command: command.to_owned(), flags, runner: Vec::new() }
}

/// All bits, or all but the last of floats.
#[track_caller]
fn assert_same(model: &Path, folder: &Path, compiler: &Compiler, runs: u32) {
    let found = compared(model, folder, compiler, runs);
    let is_float = load(model.to_str().unwrap())
        .unwrap()
        .graph()
        .tensors()
        .iter()
        .all(|tensor| tensor.dtype.as_ref().is_none_or(|dtype| dtype.name().starts_with("float")));
    let is_same = found.equal || is_float && found.is_within(FLOAT);
    assert!(is_same, "{}: {:?} with {compiler:?}", model.display(), found.max_abs_difference);
}

/// Copies, so that code can lie beside them.
fn collected(names: &[&str], folder: &Path) -> Vec<PathBuf> {
    let Some(models) = shared("models") else { return Vec::new() };
    let copy = |name: &&str| {
        let to = folder.join(format!("{name}.tflite"));
        std::fs::copy(models.join(format!("{name}.tflite")), &to).unwrap();
        to
    };
    names.iter().map(copy).collect()
}

#[test]
fn models_compute_the_same_in_c() {
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let networks = if is_slow() { NETWORKS } else { &["randwire-cifar10?nodes=10"] };
    let precisions: &[Precision] =
        if is_slow() { &[Precision::Int8, Precision::Float32] } else { &[Precision::Int8] };
    let zoo = networks.iter().flat_map(|name| {
        precisions.iter().map(|&precision| exported(name, Format::TfLite, precision, folder.path()))
    });
    let mut models: Vec<PathBuf> = zoo.collect();
    models.extend(collected(&sample(QUICK.iter().copied(), 2), folder.path()));
    if is_slow() {
        models.extend(collected(SLOW, folder.path()));
    }
    on_all_cores(&models, |model| {
        for loops in [false, true] {
            let (code, _) = emitted(model, loops);
            assert_same(model, &code, &with("cc", "-O2"), RUNS);
        }
    });
}

/// Operators in forms that the collection does not have, in a model each.
#[test]
fn operators_compute_the_same_in_c() {
    let Some(python) = python().filter(|_| has("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../serenity-judges/judges/operators.py");
    assert!(Command::new(&python).arg(&script).arg(folder.path()).status().unwrap().success());
    let files = std::fs::read_dir(folder.path()).unwrap();
    let mut models: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    models.sort();
    assert!(!models.is_empty());
    let models = sample(models, 6);
    let careful = "-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all";
    on_all_cores(&models, |model| {
        let (code, _) = emitted(model, false);
        assert_same(model, &code, &with("cc", careful), RUNS);
    });
}

/// Kinds of operators that must be among those of which C is written, of 8-bit integers and of floats.
const COVERED: &[&str] = &[
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "relu",
    "relu6",
    "logistic",
    "tanh",
    "hard_swish",
    "softmax",
    "mean",
    "leaky_relu",
    "elu",
    "reduce_max",
    "reduce_min",
    "average_pool_2d",
    "max_pool_2d",
    "concatenation",
    "pack",
    "pad",
    "reshape",
    "quantize",
];

/// Operators whose results have other scales and zero points than their operands: as TFLM computes them, whatever
/// others compute, or refused.
#[test]
fn operators_in_other_scales_compute_the_same_in_c_or_are_refused() {
    let Some(python) = python().filter(|_| has("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../serenity-judges/judges/operators.py");
    let made = Command::new(&python).arg(&script).arg(folder.path()).arg("quantized").status();
    assert!(made.unwrap().success());
    let mut models: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    models.sort();
    let is_first =
        |model: &PathBuf| model.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_0"));
    models.retain(|model| is_slow() || is_first(model));
    // All are written, and some are run.
    let run = sample(models.iter(), 4);
    let emitted: Vec<Option<String>> = on_all_cores(&models, |model| {
        let input = load(model.to_str().unwrap()).unwrap();
        let options = Options { model: MemoryModel::Tflm(Kernels::Emitted), ..Options::for_input(&input) };
        let found = optimize(&input, &options).unwrap();
        let refused = check_covered(&input, false, Kernels::Emitted).is_err();
        let Ok(code) = emit_c(&found.model, &found.plan, "net") else { return None };
        // What is refused before the search is refused after it.
        assert!(!refused, "{}", model.display());
        let folder = model.with_extension("c");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in &code.files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        if run.contains(&model) {
            assert_same(model, &folder, &with("cc", "-O1"), 2);
        }
        Some(model.file_stem().unwrap().to_string_lossy().into_owned())
    });
    for kind in COVERED {
        for dtype in ["int8", "float32"] {
            let name = format!("{kind}_{dtype}_0");
            let is_conversion = *kind == "quantize" && dtype == "float32";
            assert!(is_conversion || emitted.iter().flatten().any(|emitted| *emitted == name), "{name}");
        }
    }
}

/// Single layers whose result begins as little above what they read as the table allows, then 16 bytes nearer: refused,
/// or, where the table is too careful, right as well.
#[test]
fn layers_go_from_back_to_front_where_their_result_begins_above() {
    let Some(python) = python().filter(|_| has("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../serenity-judges/judges/operators.py");
    assert!(Command::new(&python).arg(&script).arg(folder.path()).status().unwrap().success());
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let is_layer = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("layer_");
    let mut models: Vec<PathBuf> = files.filter(is_layer).collect();
    models.sort();
    assert_eq!(models.len(), 12);
    let models = sample(models, 3);
    let careful = "-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all";
    let refused = on_all_cores(&models, |model| {
        let input = load(model.to_str().unwrap()).unwrap();
        let options = Options { model: MemoryModel::Tflm(Kernels::Emitted), ..Options::for_input(&input) };
        let found = optimize(&input, &options).unwrap();
        let graph = input.graph();
        let overlaps = overlaps(graph, OpId(0), Kernels::Emitted);
        let backwards = overlaps.iter().find(|overlap| overlap.is_backward).unwrap();
        let above = |distance: u64| {
            let mut offsets = vec![None; graph.tensors().len()];
            (offsets[backwards.input.index()], offsets[backwards.output.index()]) = (Some(0), Some(distance));
            let plan = Plan { offsets: Some(vec![offsets]), ..found.plan.clone() };
            emit_c(&input, &plan, "net")
        };
        let distance = backwards.distance.next_multiple_of(16);
        let runs_at = |distance: u64| {
            let Ok(emitted) = above(distance) else { return false };
            let code = model.with_extension(distance.to_string());
            std::fs::create_dir_all(&code).unwrap();
            for (name, text) in emitted.files {
                let is_backward = |text: &str| {
                    text.contains("_backward_s8(")
                        || text.contains("/* from the last pixel to the first */ 1,")
                };
                assert!(name != "model.c" || is_backward(&text), "{}", model.display());
                std::fs::write(code.join(name), text).unwrap();
            }
            assert_same(model, &code, &with("cc", careful), RUNS);
            true
        };
        assert!(runs_at(distance), "{}: {distance}", model.display());
        // At the same place it may go forwards.
        distance > 16 && !runs_at(distance - 16)
    });
    let refused = refused.iter().filter(|refused| **refused).count();
    assert!(3 * refused >= 2 * models.len(), "{refused} of {} are refused 16 bytes nearer", models.len());
}

#[test]
fn every_tensor_between_is_the_same() {
    let Some(python) = python().filter(|_| has("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut models = vec![exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path())];
    // Outside the band that it is told to fill, TFLM leaves a tensor of energies as it was.
    let defined: Vec<&str> =
        QUICK.iter().copied().filter(|name| *name != "tflm_audio_preprocessor_int8").collect();
    models.extend(collected(&sample(defined, 2), folder.path()));
    if is_slow() {
        models.extend(collected(&SLOW[..6], folder.path()));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../serenity-judges/judges/all_outputs.py");
    for model in models {
        let all = model.with_extension("all.tflite");
        let made = Command::new(&python).arg(&script).args([&model, &all]).status().unwrap();
        assert!(made.success(), "{}", model.display());
        let (code, _) = emitted(&all, false);
        assert_same(&all, &code, &with("cc", "-O2"), 2);
    }
}

#[test]
fn compilers_and_sanitisers_agree() {
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut models = vec![exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path())];
    // Keyword spotting has layers that go from back to front.
    models.extend(collected(&sample([&QUICK[..1], &QUICK[2..]].concat(), 4), folder.path()));
    let strict = "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";
    let careful = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";
    for model in &models {
        let (code, _) = emitted(model, true);
        for command in ["gcc", "clang"].into_iter().filter(|command| has(command)) {
            let levels: &[&str] =
                if is_slow() { &["-O0", "-O1", "-O2", "-O3", "-Os"] } else { &["-O0", "-O3"] };
            for level in levels {
                assert_same(model, &code, &with(command, &format!("{strict} {level}")), 2);
            }
            assert_same(model, &code, &with(command, &format!("{strict} {careful}")), 2);
        }
        if has("g++") {
            let strict = "-x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror";
            assert_same(model, &code, &with("g++", &format!("{strict} -O1")), 1);
        }
    }
}

/// Start and memory of boards that QEMU emulates.
pub(crate) const BOARDS: &[(&str, &str, &str)] =
    &[("cortex-m4", "mps2-an386", "4M"), ("cortex-m55", "mps3-an547", "512K")];

#[test]
fn cores_agree() {
    if python().is_none() || !has("arm-none-eabi-gcc") || !has("qemu-system-arm") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut models = vec![exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path())];
    models.extend(collected(&sample(QUICK.iter().copied(), 5), folder.path()));
    for model in &models {
        let (code, _) = emitted(model, true);
        for board in BOARDS {
            assert_same(model, &code, &on(board, "-O2", folder.path()), 1);
        }
    }
}

/// The compiler and the emulator of a board.
pub(crate) fn on((core, machine, memory): &(&str, &str, &str), flags: &str, folder: &Path) -> Compiler {
    let board = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/emitted_c");
    let script = folder.join(format!("{core}.ld"));
    let text = std::fs::read_to_string(board.join("board.ld")).unwrap().replace("MEMORY_SIZE", memory);
    std::fs::write(&script, text).unwrap();
    let flags = format!(
        "-mcpu={core} -mthumb {flags} --specs=rdimon.specs -nostartfiles -T {} {}",
        script.display(),
        board.join("board.c").display()
    );
    let runner = format!(
        "qemu-system-arm -M {machine} -nographic -monitor none -serial none \
         -semihosting-config enable=on,target=native -kernel"
    );
    let runner = runner.split_whitespace().map(str::to_owned).collect();
    Compiler { runner, ..with("arm-none-eabi-gcc", &flags) }
}

/// A checkout of CMSIS-NN, which is nobody's to copy. If there is none, that is said.
fn cmsis_nn() -> Option<PathBuf> {
    let checkout = std::env::var_os("SERENITY_CMSIS_NN").map(PathBuf::from);
    if checkout.is_none() {
        skip(Need::CmsisNn, "SERENITY_CMSIS_NN names no checkout of CMSIS-NN");
    }
    checkout
}

/// All functions of the library for integers as one object, and what finds its headers: flags for whoever compiles with the same.
fn library(checkout: &Path, command: &str, flags: &str, object: &Path) -> String {
    let headers = format!("-I{}", checkout.join("Include").display());
    let mut sources = Vec::new();
    for folder in std::fs::read_dir(checkout.join("Source")).unwrap().map(|entry| entry.unwrap().path()) {
        if folder.is_dir() {
            sources.extend(std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    let is_of_integers = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".c") && !name.contains("f16") && !name.contains("f32")
    };
    sources.retain(is_of_integers);
    let done = Command::new(command)
        .args(flags.split_whitespace())
        .args(["-w", "-r", "-nostdlib", "-ffunction-sections", &headers, "-o"])
        .arg(object)
        .args(sources)
        .status();
    assert!(done.unwrap().success(), "{command} {flags}");
    format!("{flags} {headers} -Wl,--gc-sections {}", object.display())
}

#[test]
fn calls_of_cmsis_nn_compute_the_same() {
    let Some(checkout) = cmsis_nn().filter(|_| python().is_some() && has("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut models = collected(&QUICK[..2], folder.path());
    models.push(exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path()));
    if is_slow() {
        models.extend(collected(&SLOW[..2], folder.path()));
    }
    let object = |name: &str| folder.path().join(format!("{name}.o"));
    let strict = "-std=c11 -Wall -Wextra -Werror -O2";
    let native = library(&checkout, "cc", "-O2", &object("native"));
    let careful = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=shift";
    let careful = library(&checkout, "cc", careful, &object("careful"));
    let mut boards = Vec::new();
    if has("arm-none-eabi-gcc") && has("qemu-system-arm") {
        let [m4, m55] = BOARDS else { unreachable!() };
        let cores =
            [(Kernels::EmittedCmsisNn, m4, "-O2"), (Kernels::EmittedCmsisNnMve, m55, "-mfloat-abi=hard -O2")];
        for (kernels, board, flags) in cores {
            let built = format!("-mcpu={} -mthumb {flags}", board.0);
            let flags = library(&checkout, "arm-none-eabi-gcc", &built, &object(board.0));
            boards.push((kernels, on(board, &flags, folder.path())));
        }
    }
    for model in &models {
        for loops in [false, true] {
            let (code, _) = emitted_for(Kernels::EmittedCmsisNn, model, loops);
            let text = std::fs::read_to_string(code.join("model.c")).unwrap();
            assert!(text.contains("arm_convolve_wrapper_s8("));
            // Convolutions of 1x1 and depthwise ones of 3x3, as this network has no others, are done without scratch.
            assert_ne!(
                text.contains("works in bytes"),
                model.ends_with("swiftnet-c_int8.tflite"),
                "{model:?}"
            );
            assert_same(model, &code, &with("cc", &format!("{strict} {native}")), RUNS);
            assert_same(model, &code, &with("cc", &careful), 1);
            for (kernels, compiler) in &boards {
                let (code, _) = emitted_for(*kernels, model, loops);
                assert_same(model, &code, compiler, 1);
            }
        }
    }
    // What is written for one kind of core is refused by others.
    let (code, _) = emitted_for(Kernels::EmittedCmsisNnMve, &models[0], false);
    let options = VerifyOptions { python: python(), ..VerifyOptions::default() };
    let (model, code) = (models[0].to_str().unwrap(), code.to_str().unwrap());
    let error = verify_emitted(model, code, &with("cc", &native), &options).unwrap_err().to_string();
    assert!(error.contains("write this again with --kernels cmsis-nn"), "{error}");
}

/// Static memory, stack and flash of the models that others publish figures for, with loops: arena at most, and what a
/// Cortex-M4 needs at -Os.
#[test]
fn memory_is_what_was_promised() {
    let folder = tempfile::tempdir().unwrap();
    let most: &[(&str, u64)] = &[
        ("mlperf_tiny_kws_int8", 8_384),
        ("mlperf_tiny_resnet8_int8", 17_472),
        ("mlperf_tiny_vww_96_int8", 27_760),
        ("mobilenet_v2_035_96_int8", 31_808),
    ];
    // The larger ones take a minute to plan.
    let most = if is_slow() { most } else { &most[..2] };
    let names: Vec<&str> = most.iter().map(|(name, _)| *name).collect();
    let models = collected(&names, folder.path());
    let has_size = has("arm-none-eabi-gcc") && has("arm-none-eabi-size");
    on_all_cores(&models.iter().zip(most).collect::<Vec<_>>(), |(model, (name, most))| {
        let (code, emitted) = emitted(model, true);
        assert!(emitted.ram() <= *most, "{name}: {} bytes", emitted.ram());
        if !has_size {
            return;
        }
        let (flash, ram, stack) = size_on_m4(&code);
        let file = std::fs::metadata(model).unwrap().len();
        println!("{name}: RAM {ram}, flash {flash} (file {file}), stack at most {stack}");
        assert!(ram <= *most && flash <= file + 20_480 && stack <= 512, "{name}");
    });
}

/// Flash, static RAM, and the frames of the deepest calls added up.
fn size_on_m4(code: &Path) -> (u64, u64, u64) {
    let mut stack = Vec::new();
    for file in ["model", "kernels"] {
        let done = Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m4", "-mthumb", "-Os", "-fstack-usage", "-c"])
            .arg(format!("{file}.c"))
            .current_dir(code)
            .status();
        assert!(done.unwrap().success());
        let frames = std::fs::read_to_string(code.join(format!("{file}.su"))).unwrap();
        let frames = frames.lines().filter_map(|line| line.split('\t').nth(1)?.parse::<u64>().ok());
        stack.push(frames.collect::<Vec<u64>>());
    }
    let output =
        Command::new("arm-none-eabi-size").args(["model.o", "kernels.o"]).current_dir(code).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let sums = text.lines().skip(1).fold([0; 3], |sums: [u64; 3], line| {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
        sums.map(|sum| sum + numbers.next().unwrap_or(0))
    });
    // The run, a loop and a step of the model; of the kernels, at most three functions in each other.
    let deepest = |frames: &mut Vec<u64>, depth: usize| {
        frames.sort_unstable();
        frames.iter().rev().take(depth).sum::<u64>()
    };
    (sums[0] + sums[1], sums[1] + sums[2], deepest(&mut stack[0], 3) + deepest(&mut stack[1], 2))
}
