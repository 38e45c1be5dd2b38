//! `examples/firmware` as its reader uses it: emit, `make`, `make run` in an emulator, and a link that fails if the
//! model does not fit.

use crate::common::exported;
use crate::emitted_c::{emitted, has};
use serenity::loops::streams::Rows;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::stream::stream;
use serenity::zoo::Precision;
use serenity::{Format, Loops, Options, load};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// RAM of the linker script, and the stack that the Makefile reserves of it.
const RAM: u64 = 64 * 1024;
const STACK: u64 = 2 * 1024;

/// A copy of the example, without a model.
fn firmware(to: &Path) -> PathBuf {
    let folder = to.join("firmware");
    std::fs::create_dir(&folder).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/firmware");
    for name in ["Makefile", "board.h", "board_host.c", "board_m4.c", "link.ld", "main.c"] {
        std::fs::copy(example.join(name), folder.join(name)).unwrap();
    }
    folder
}

fn make(folder: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new("make").args(arguments).current_dir(folder).output().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    (output, String::from_utf8(said).unwrap())
}

#[track_caller]
fn lines(folder: &Path, target: &str, beginning: &str) -> Vec<String> {
    let (output, said) = make(folder, &["-s", "CFLAGS=-std=c11 -O2 -Wall -Wextra -Werror -Imodel", target]);
    assert!(output.status.success(), "{said}");
    said.lines().filter(|line| line.starts_with(beginning)).map(str::to_owned).collect()
}

/// Rows pushed from a buffer of one row compute what the whole input computes, on this computer and on the emulated board.
#[test]
fn the_example_firmware_pushes_rows() {
    if !["cc", "make", "arm-none-eabi-gcc", "qemu-system-arm"].into_iter().all(has) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let model = exported("mobilenet?resolution=64", Format::TfLite, Precision::Int8, temporary.path());
    let folder = firmware(temporary.path());
    let (code, whole) = emitted(&model, true);
    std::fs::rename(code, folder.join("model")).unwrap();
    let expected = lines(&folder, "host", "output:");
    assert_eq!(expected.len(), 1, "{expected:?}");

    let input = load(model.to_str().unwrap()).unwrap();
    let kernels = MemoryModel::Tflm(Kernels::Emitted);
    let options = Options { model: kernels, loops: Some(Loops::default()), ..Options::for_input(&input) };
    let streamed = stream(&input, &options, Rows::Pushed, "net").unwrap();
    assert!(streamed.code.ram() < whole.ram(), "{} of {}", streamed.code.ram(), whole.ram());
    for (name, text) in &streamed.code.files {
        std::fs::write(folder.join("model").join(name), text).unwrap();
    }
    assert_eq!(lines(&folder, "host", "output:"), expected);
    assert_eq!(lines(&folder, "run", "output:"), expected);
}

#[test]
fn the_example_firmware_computes_what_the_model_computes() {
    if !["cc", "make", "arm-none-eabi-gcc", "qemu-system-arm"].into_iter().all(has) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let model = exported("swiftnet-b", Format::TfLite, Precision::Int8, temporary.path());
    let (code, emitted) = emitted(&model, true);
    let folder = firmware(temporary.path());
    std::fs::rename(code, folder.join("model")).unwrap();

    // Other tests compare the C with TFLM; here the emulated board must agree with this computer.
    let expected = lines(&folder, "host", "output:");
    assert_eq!(expected.len(), 1, "{expected:?}");
    assert_eq!(lines(&folder, "run", "output:"), expected);

    // "RAM: 32332 of 65536 bytes: 31908 arena, 4 other data, 420 stack"
    let ram = lines(&folder, "run", "RAM:").join("");
    let numbers = ram.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok());
    let [used, size, arena, other, stack] = numbers.collect::<Vec<u64>>()[..] else { panic!("{ram}") };
    assert_eq!((size, arena, used), (RAM, emitted.ram(), arena + other + stack), "{ram}");
    assert!(other < 64 && stack > 0 && stack < STACK, "{ram}");

    // One kibibyte less than arena and stack: the linker refuses.
    let little = format!("RAM={}", (arena + STACK).next_multiple_of(1024) - 1024);
    let (output, said) = make(&folder, &[&little]);
    assert!(!output.status.success() && said.contains("region `RAM' overflowed by"), "{said}");
}
