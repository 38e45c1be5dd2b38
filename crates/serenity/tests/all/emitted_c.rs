//! C without an interpreter, judged by the outside: compilers make programs of it, and TensorFlow Lite for Microcontrollers runs the model on the same inputs.

use crate::common::{NETWORKS, exported};
use serenity::emitting::Emitted;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{
    Compiler, Format, Loops, Options, Verification, VerifyOptions, emit_c, load, optimize, verify_emitted,
};
use serenity_judges::{on_all_cores, python, shared};
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

fn is_slow() -> bool {
    std::env::var_os("SERENITY_SLOW").is_some()
}

/// Is this command here? If not, that is said.
fn has(command: &str) -> bool {
    let asked = Command::new(command).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_here = asked.is_ok_and(|status| status.success());
    if !is_here {
        eprintln!("SKIPPED: there is no {command}");
    }
    is_here
}

/// The C of a model in a folder beside it.
fn emitted(model: &Path, loops: bool) -> (PathBuf, Emitted) {
    let input = load(model.to_str().unwrap()).unwrap();
    let options = Options {
        model: MemoryModel::Tflm(Kernels::Emitted),
        loops: loops.then(Loops::default),
        ..Options::for_input(&input)
    };
    let found = optimize(&input, &options).unwrap();
    let code = emit_c(&found.model, &found.plan, "net").unwrap();
    let folder = model.with_extension(if loops { "loops" } else { "c" });
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

fn with(command: &str, flags: &str) -> Compiler {
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
    let is_same = found.is_equal() || is_float && found.is_within(FLOAT);
    assert!(is_same, "{}: {:?} with {compiler:?}", model.display(), found.max_abs_difference());
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
    let networks = if is_slow() { NETWORKS } else { &["swiftnet-c", "randwire-cifar10?nodes=10"] };
    let precisions: &[Precision] =
        if is_slow() { &[Precision::Int8, Precision::Float32] } else { &[Precision::Int8] };
    let zoo = networks.iter().flat_map(|name| {
        precisions.iter().map(|&precision| exported(name, Format::TfLite, precision, folder.path()))
    });
    let mut models: Vec<PathBuf> = zoo.collect();
    models.extend(collected(QUICK, folder.path()));
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
    let careful = "-g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all";
    on_all_cores(&models, |model| {
        let (code, _) = emitted(model, false);
        assert_same(model, &code, &with("cc", careful), RUNS);
    });
}

#[test]
fn every_tensor_between_is_the_same() {
    let Some(python) = python().filter(|_| has("cc")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut models = vec![exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path())];
    // Outside the band that it is told to fill, TFLM leaves a tensor of energies as it was.
    let defined: Vec<&str> =
        QUICK.iter().copied().filter(|name| *name != "tflm_audio_preprocessor_int8").collect();
    models.extend(collected(&defined, folder.path()));
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
    models.extend(collected(&QUICK[2..], folder.path()));
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
const BOARDS: &[(&str, &str, &str)] =
    &[("cortex-m4", "mps2-an386", "4M"), ("cortex-m55", "mps3-an547", "512K")];

#[test]
fn cores_agree() {
    if python().is_none() || !has("arm-none-eabi-gcc") || !has("qemu-system-arm") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut models = vec![exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path())];
    models.extend(collected(&QUICK[1..], folder.path()));
    let board = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/emitted_c");
    for model in &models {
        let (code, _) = emitted(model, true);
        for (core, machine, memory) in BOARDS {
            let script = folder.path().join(format!("{core}.ld"));
            let text =
                std::fs::read_to_string(board.join("board.ld")).unwrap().replace("MEMORY_SIZE", memory);
            std::fs::write(&script, text).unwrap();
            let flags = format!(
                "-mcpu={core} -mthumb -O2 --specs=rdimon.specs -nostartfiles -T {} {}",
                script.display(),
                board.join("board.c").display()
            );
            let runner = format!(
                "qemu-system-arm -M {machine} -nographic -monitor none -serial none \
                 -semihosting-config enable=on,target=native -kernel"
            );
            let runner = runner.split_whitespace().map(str::to_owned).collect();
            assert_same(model, &code, &Compiler { runner, ..with("arm-none-eabi-gcc", &flags) }, 1);
        }
    }
}

/// Static memory, stack and flash of the models that others publish figures for, with loops: arena at most, and what a Cortex-M4 needs at -Os.
#[test]
fn memory_is_what_was_promised() {
    let folder = tempfile::tempdir().unwrap();
    let most: &[(&str, u64)] = &[
        ("mlperf_tiny_kws_int8", 9_792),
        ("mlperf_tiny_resnet8_int8", 17_472),
        ("mlperf_tiny_vww_96_int8", 28_160),
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
