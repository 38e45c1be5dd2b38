//! `examples/firmware` as its reader uses it: emit, `make`, `make run` in an emulator, and a link that fails if the model does not fit.

use crate::common::exported;
use crate::emitted_c::{emitted, has};
use serenity::Format;
use serenity::zoo::Precision;
use std::path::Path;
use std::process::{Command, Output};

/// RAM of the linker script, and the stack that the Makefile reserves of it.
const RAM: u64 = 64 * 1024;
const STACK: u64 = 2 * 1024;

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

#[test]
fn the_example_firmware_computes_what_the_model_computes() {
    if !["cc", "make", "arm-none-eabi-gcc", "qemu-system-arm"].into_iter().all(has) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let model = exported("swiftnet-b", Format::TfLite, Precision::Int8, temporary.path());
    let (code, emitted) = emitted(&model, true);
    let folder = temporary.path().join("firmware");
    std::fs::create_dir(&folder).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/firmware");
    for name in ["Makefile", "board.h", "board_host.c", "board_m4.c", "link.ld", "main.c"] {
        std::fs::copy(example.join(name), folder.join(name)).unwrap();
    }
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
