//! Several models on one device, judged by the outside: compilers make one program of them, which runs them in random
//! order beside the same models alone.

use crate::common::exported;
use crate::emitted_c::{has, with};
use serenity::search::Random;
use serenity::zoo::Precision;
use serenity::{Format, Options, load, optimize};
use serenity_device::{App, Device, DevicePlan, Obvious, Search, plan};
use serenity_judges::{draws, python, sample, shared};
use serenity_verify::{VerifyOptions, verify_emitted};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover",
];

/// A model, and what more the file says of it.
#[derive(Clone)]
pub(crate) struct Said<'a> {
    name: &'a str,
    file: String,
    more: &'a str,
}

pub(crate) fn said<'a>(name: &'a str, file: &Path, more: &'a str) -> Said<'a> {
    Said { name, file: file.to_string_lossy().into_owned(), more }
}

pub(crate) fn planned(folder: &Path, head: &str, memories: &str, models: &[Said]) -> Device {
    let mut text = format!("{head}\n{memories}\n");
    for Said { name, file, more } in models {
        let _ = writeln!(text, "[[model]]\nname = \"{name}\"\nfile = '{file}'\n{more}");
    }
    let path = folder.join("app.toml");
    std::fs::write(&path, &text).unwrap();
    let path = path.to_str().unwrap();
    let app = App::load(path, &|size| size.parse().map_err(|_| "a number".to_owned())).unwrap();
    plan(path, app, &Search::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Writes the code of the device, and of each model alone with the prefix `alone_`; returns all sources.
fn written(folder: &Path, device: &Device) -> Vec<String> {
    let mut sources = Vec::new();
    let mut write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path.to_string_lossy().into_owned());
        }
    };
    for (name, bytes) in device.files().unwrap() {
        write(&format!("device/{name}"), &bytes);
    }
    for model in &device.app.models {
        let input = load(&model.file).unwrap();
        let options = Options {
            model: input.default_model.with_kernels(serenity::runtimes::Kernels::Emitted),
            ..Options::for_input(&input)
        };
        let found = optimize(&input, &options).unwrap();
        let alone = format!("alone_{}", model.name);
        for (name, text) in serenity::code::emit_c(&found.model, &found.plan, &alone).unwrap().files {
            write(&format!("{alone}/{name}"), text.as_bytes());
        }
    }
    sources
}

/// A copy of each memory, and what compares with it.
pub(crate) fn copies(device: &Device) -> String {
    let mut text = "static void untouched(const char *model, const unsigned char *now, const unsigned char *before, unsigned from, unsigned to) {\n  \
                    if (memcmp(now + from, before + from, to - from)) { printf(\"%s writes outside of its memory\\n\", model); exit(1); }\n}\n"
        .to_owned();
    for (memory, filled) in device.app.memories.iter().zip(&device.plan.memories) {
        let _ = writeln!(text, "static unsigned char before_{}[{}];", memory.name, filled.shared.max(1));
    }
    text
}

/// What copies all memories before a model runs, and what says afterwards that it wrote only where it lies or leaves an output.
pub(crate) fn around(device: &Device, model: usize) -> [String; 2] {
    let (app, mut before, mut after) = (&device.app, String::new(), String::new());
    for (memory, (said, filled)) in app.memories.iter().zip(&device.plan.memories).enumerate() {
        let array = format!("{}_{}", app.name, said.name);
        let _ = writeln!(before, "    memcpy(before_{}, {array}, sizeof {array});", said.name);
        let parts = device.plan.parts[model].iter().filter(|part| part.memory == memory);
        let handed = device.plan.handed.iter().filter(|kept| kept.from == model && kept.memory == memory);
        let mut own: Vec<(u64, u64)> = (parts.map(|part| (part.offset, part.offset + part.bytes)))
            .chain(handed.map(|kept| (kept.offset, kept.offset + kept.bytes)))
            .chain([(filled.shared, filled.shared)])
            .collect();
        own.sort_unstable();
        let mut from = 0;
        for (begin, end) in own {
            if from < begin {
                let name = &app.models[model].name;
                let _ = writeln!(
                    after,
                    "    untouched(\"{name}\", {array}, before_{}, {from}, {begin});",
                    said.name
                );
            }
            from = from.max(end);
        }
    }
    [before, after]
}

/// A program that runs all models in rounds, each model in a round or not, and compares with the same models alone.
fn program(device: &Device, rounds: u32) -> String {
    let names: Vec<&str> = device.app.models.iter().map(|model| model.name.as_str()).collect();
    let mut text =
        "#include \"device/device.h\"\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
            .to_owned();
    for name in &names {
        let _ = writeln!(text, "#include \"alone_{name}/model.h\"");
    }
    text.push_str(
        "static unsigned state = 1;\nstatic unsigned draw(void) { return (state = state * 1664525u + 1013904223u) >> 16; }\n\
         static void fill(void *a, void *b, unsigned bytes) {\n  unsigned char *x = a, *y = b;\n  while (bytes--) *x++ = *y++ = (unsigned char)(draw() % 5 ? draw() : draw() % 2 ? 127 : 128);\n}\n\
         static void same(const char *model, int round, const void *a, const void *b, unsigned bytes) {\n  \
         if (memcmp(a, b, bytes)) { printf(\"%s differs in round %d\\n\", model, round); exit(1); }\n}\n",
    );
    text.push_str(&copies(device));
    let _ = writeln!(
        text,
        "int main(void) {{\n  int ran[{}];\n  for (int round = 0; round < {rounds}; ++round) {{\n  memset(ran, 0, sizeof ran);",
        names.len()
    );
    for (index, model) in device.app.models.iter().enumerate() {
        let (name, upper) = (&model.name, model.name.to_uppercase());
        let needs: Vec<String> = model.feeds.iter().map(|feed| format!(" && ran[{}]", feed.from)).collect();
        let _ = writeln!(text, "  if (draw() % 4{}) {{", needs.concat());
        let [before, after] = around(device, index);
        let graph = load(&model.file).unwrap();
        for input in 0..graph.graph().inputs().len() {
            let alone = format!("alone_{name}_input_{input}");
            match model.feeds.iter().find(|feed| feed.input == input) {
                Some(feed) => {
                    let from = format!("alone_{}_output_{}", names[feed.from], feed.output);
                    let _ = writeln!(text, "    memcpy({alone}, {from}, {upper}_INPUT_{input}_BYTES);");
                }
                None => {
                    let _ = writeln!(
                        text,
                        "    fill({name}_input_{input}, {alone}, {upper}_INPUT_{input}_BYTES);"
                    );
                }
            }
        }
        let _ = writeln!(
            text,
            "{before}    {}_run_{name}();\n{after}    alone_{name}_invoke();\n    ran[{index}] = 1;",
            device.app.name
        );
        for output in 0..graph.graph().outputs().len() {
            let _ = writeln!(
                text,
                "    same(\"{name}\", round, {name}_output_{output}, alone_{name}_output_{output}, {upper}_OUTPUT_{output}_BYTES);"
            );
        }
        text.push_str("  }\n");
    }
    text.push_str("  }\n  return 0;\n}\n");
    text
}

fn run(folder: &Path, sources: &[String], main: &str, flags: &[&str]) {
    std::fs::write(folder.join("main.c"), main).unwrap();
    let binary = folder.join("main");
    let built = Command::new("cc")
        .args(FLAGS)
        .args(sources)
        .arg(folder.join("main.c"))
        .args(["-o", binary.to_str().unwrap(), "-lm"])
        .args(flags)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&binary).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
}

const ONE: &str = "[[memory]]\nname = \"sram\"\nsize = 4000000";

#[test]
fn models_that_share_memory_compute_the_same() {
    if !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let net = |name| exported(name, Format::TfLite, Precision::Int8, folder.path());
    let (swiftnet, branches) = (net("swiftnet-c"), net("branches"));
    let models =
        [said("one", &swiftnet, ""), said("two", &branches, ""), said("three", &swiftnet, "loops = true")];
    let device = planned(folder.path(), "", ONE, &models);
    let arenas: Vec<u64> = device.models.iter().map(|model| model.arena().next_multiple_of(16)).collect();
    let state = |device: &Device| device.plan.memories[0].state;
    assert_eq!(device.plan.ram() - state(&device), *arenas.iter().max().unwrap());
    let sources = written(folder.path(), &device);
    run(folder.path(), &sources, &program(&device, 8), &[]);

    // Side by side at the same time: nothing is shared by these two.
    let device = planned(folder.path(), "together = [[\"one\", \"two\"]]", ONE, &models);
    let arenas: Vec<u64> = device.models.iter().map(|model| model.arena().next_multiple_of(16)).collect();
    assert_eq!(device.plan.ram() - state(&device), (arenas[0] + arenas[1]).max(arenas[2]));
    let sources = written(folder.path(), &device);
    run(folder.path(), &sources, &program(&device, 5), &[]);
    run(folder.path(), &sources, &at_once(&device, ["one", "two"]), &["-pthread"]);
}

/// Devices by chance: models that feed each other with others in between, and sets that run together.
#[test]
fn devices_by_chance_compute_the_same() {
    if !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let net = |name| exported(name, Format::TfLite, Precision::Int8, folder.path());
    let (swiftnet, branches) = (net("swiftnet-c"), net("branches"));
    for case in 0..draws(30) {
        let mut random = Random(case);
        let count = 3 + random.index(3);
        let names = ["a", "b", "c", "d", "e"];
        let mut feeds: Vec<Option<usize>> = vec![None; count];
        // The inputs and outputs of `branches` are of one size.
        let is_branches: Vec<bool> = (0..count).map(|_| !random.one_in(4)).collect();
        for fed in (1..count).filter(|&fed| is_branches[fed]) {
            let from = random.index(fed);
            feeds[fed] = (is_branches[from] && !random.one_in(3)).then_some(from);
        }
        let pair = [random.index(count), random.index(count)];
        // What feeds runs before what it feeds, and so do the moments in the order of the file.
        let may_be_beside = pair[0] < pair[1]
            && (pair[0] + 1..=pair[1]).all(|model| feeds[model].is_none_or(|from| from < pair[0]));
        let head = if may_be_beside {
            format!("together = [[\"{}\", \"{}\"]]", names[pair[0]], names[pair[1]])
        } else {
            String::new()
        };
        let more: Vec<String> = feeds
            .iter()
            .map(|feed| {
                feed.map_or_else(String::new, |from| format!("[[model.feed]]\nfrom = \"{}\"", names[from]))
            })
            .collect();
        let models: Vec<Said> = (0..count)
            .map(|model| {
                said(names[model], if is_branches[model] { &branches } else { &swiftnet }, &more[model])
            })
            .collect();
        let device = planned(folder.path(), &head, ONE, &models);
        let sources = written(folder.path(), &device);
        run(folder.path(), &sources, &program(&device, 40), &[]);
    }
}

/// A program in which two models run in a thread each.
fn at_once(device: &Device, pair: [&str; 2]) -> String {
    let mut text =
        "#include \"device/device.h\"\n#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n"
            .to_owned();
    for name in pair {
        let (app, upper) = (&device.app.name, name.to_uppercase());
        let _ = write!(
            text,
            "#include \"alone_{name}/model.h\"\nstatic void *go_{name}(void *none) {{\n  for (int round = 0; round < 12; ++round) {{\n    \
             memset({name}_input_0, round * 7, {upper}_INPUT_0_BYTES);\n    memset(alone_{name}_input_0, round * 7, {upper}_INPUT_0_BYTES);\n    \
             {app}_run_{name}();\n    alone_{name}_invoke();\n    \
             if (memcmp({name}_output_0, alone_{name}_output_0, {upper}_OUTPUT_0_BYTES)) abort();\n  }}\n  return none;\n}}\n"
        );
    }
    let [a, b] = pair;
    let _ = write!(
        text,
        "int main(void) {{\n  pthread_t one, two;\n  pthread_create(&one, 0, go_{a}, 0);\n  pthread_create(&two, 0, go_{b}, 0);\n  pthread_join(one, 0);\n  pthread_join(two, 0);\n  return 0;\n}}\n"
    );
    text
}

#[test]
fn a_model_in_two_memories_computes_the_same() {
    if !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = exported("swiftnet-a", Format::TfLite, Precision::Int8, folder.path());
    let two = "[[memory]]\nname = \"fast\"\nsize = 40000\nsection = \".fast\"\n[[memory]]\nname = \"slow\"\nsize = 400000\nread = 5\nwrite = 4";
    let device = planned(
        folder.path(),
        "",
        two,
        &[said("net", &model, ""), said("other", &model, "memories = [\"slow\"]")],
    );
    assert_eq!(device.plan.parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    let [fast, slow] = &device.plan.memories[..] else { panic!("two memories") };
    assert!(fast.shared > 0 && fast.shared <= 40_000 && slow.shared > 0);
    // All in the slow memory would cost more, and nothing costs less than what is said.
    let all = device.models[0].traffic;
    assert!(device.plan.cost < 2 * (5 * all.read + 4 * all.written));
    assert!(device.plan.bound <= device.plan.cost && device.plan.bound >= 5 * all.read + 4 * all.written);
    for (way, baseline) in &device.baselines {
        let cost = baseline.as_ref().unwrap_or_else(|| panic!("{way:?} fits")).cost;
        assert!(cost >= device.plan.cost, "{way:?} costs {cost}");
    }
    let sources = written(folder.path(), &device);
    run(folder.path(), &sources, &program(&device, 10), &[]);
}

/// The bytes touched in the second memory: by the plan, by each obvious placement, and at least.
fn touched_in_slow(device: &Device) -> (u64, Vec<(Obvious, Option<u64>)>, u64) {
    let touched = |plan: &DevicePlan| plan.traffic(1).bytes();
    let baselines = device.baselines.iter().map(|(way, plan)| (*way, plan.as_ref().map(touched)));
    (touched(&device.plan), baselines.collect(), device.plan.slow_bound)
}

/// Four tensors of 1,024 bytes in a chain: only the first, and only the last, is touched once; all others twice.
#[test]
fn what_a_chain_touches_is_counted_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let chain = exported("branches?branches=1", Format::TfLite, Precision::Int8, folder.path());
    let device = |fast: u64, slow: u64| {
        let memories = format!(
            "[[memory]]\nname = \"fast\"\nsize = {fast}\n[[memory]]\nname = \"slow\"\nsize = {slow}\nread = 3\nwrite = 7\n\
             [[memory]]\nname = \"state\"\nsize = 9000\nread = 9\nwrite = 9"
        );
        let more =
            "as = \"tflm\"\nkernels = \"cmsis-nn\"\nmemories = [\"fast\", \"slow\"]\nstate = \"state\"";
        planned(folder.path(), "", &memories, &[said("net", &chain, more)])
    };
    // No two that follow one another fit the fast memory: half of them lie in the slow one. First fit finds that as well.
    // Three must leave before what is left fits, and the last one is touched once.
    let narrow = device(1_024, 4_096);
    let obvious = [Obvious::FirstFit, Obvious::LargestSlow, Obvious::AllSlow];
    let baselines = obvious.into_iter().zip([3_072, 5_120, 6_144].map(Some)).collect();
    assert_eq!(touched_in_slow(&narrow), (3_072, baselines, 3_072));
    // Either the second and the last one lie in the slow memory, or the first and the third one: one is read, two are
    // written, or two are read and one is written, which costs less.
    assert_eq!((narrow.plan.traffic(1).read, narrow.plan.traffic(1).written), (2_048, 1_024));
    assert_eq!(narrow.plan.cost, 1_024 * (1 + 2 + 2 * 3 + 7));
    let cost = |way: usize| narrow.baselines[way].1.as_ref().unwrap().cost;
    assert_eq!([cost(0), cost(2)], [1_024 * (2 + 1 + 3 + 2 * 7), 1_024 * (3 * 3 + 3 * 7)]);
    // All fit the fast memory, and only who puts all in the slow one touches it.
    let baselines = obvious.into_iter().zip([0, 0, 6_144].map(Some)).collect();
    assert_eq!(touched_in_slow(&device(2_048, 4_096)), (0, baselines, 0));
    // The slow memory is too small for two at once.
    let baselines = obvious.into_iter().zip([Some(3_072), None, None]).collect();
    assert_eq!(touched_in_slow(&device(1_024, 2_032)), (3_072, baselines, 3_072));
}

/// `MobileNetV2` with 16 KiB of fast memory: the figures of the guide.
#[test]
fn mobilenet_touches_little_of_the_slow_memory() {
    let Some(model) = shared("models/mobilenet_v2_035_96_int8.tflite") else { return };
    let folder = tempfile::tempdir().unwrap();
    let memories = "[[memory]]\nname = \"fast\"\nsize = 16384\n[[memory]]\nname = \"slow\"\nsize = 524288";
    let more = "as = \"tflm\"\nkernels = \"cmsis-nn\"";
    let device = planned(folder.path(), "", memories, &[said("net", &model, more)]);
    let (planned, baselines, bound) = touched_in_slow(&device);
    assert_eq!((planned, bound), (968_896, 964_288));
    let expected = [1_056_832, 1_138_560, 1_479_446].map(Some);
    assert_eq!(baselines.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), expected);
}

/// Models of the collection: streams and state among them, one that feeds another, and TFLM as the judge of each.
#[test]
fn a_device_of_real_models_computes_what_tflm_computes() {
    let (Some(models), Some(more)) = (shared("models"), shared("more-models")) else { return };
    if python().is_none() || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| models.join(format!("{name}.tflite"));
    let feed = "[[model.feed]]\nfrom = \"sound\"";
    let all = [
        said("sound", &file("tflm_audio_preprocessor_int8"), ""),
        said("kws", &file("mlperf_tiny_kws_int8"), "loops = true"),
        said("nabu", &file("microwakeword_okay_nabu"), ""),
        said("alexa", &more.join("mww_v1_alexa.tflite"), feed),
        said("resnet8", &file("mlperf_tiny_resnet8_int8"), "loops = true"),
        said("vww", &file("mlperf_tiny_vww_96_int8"), "loops = true"),
        said("sww", &more.join("str_ww_ref_model.tflite"), ""),
    ];
    let device = planned(folder.path(), "together = [[\"sww\", \"nabu\"]]", ONE, &all);
    // The largest alone, and what a wake word keeps from run to run.
    let state: u64 = device.plan.memories.iter().map(|filled| filled.state).sum();
    assert_eq!(device.plan.ram() - state, 27_760);
    assert_eq!(device.plan.handed.len(), 1, "another model runs between the two");
    let sources = written(folder.path(), &device);
    run(folder.path(), &sources, &program(&device, 12), &[]);
    // Each is built with all others: three of seven are enough, unless there is time.
    for model in sample(&device.app.models, 3) {
        let of_others = |source: &&String| {
            !source.contains("/alone_") && !source.contains(&format!("/device/{}/", model.name))
        };
        let others: Vec<&str> = sources.iter().filter(of_others).map(String::as_str).collect();
        let compiler = with("cc", &format!("-O0 {}", others.join(" ")));
        let options = VerifyOptions { runs: 4, python: python(), ..VerifyOptions::default() };
        let code = folder.path().join("device").join(&model.name);
        let found = verify_emitted(&model.file, code.to_str().unwrap(), &compiler, &options).unwrap();
        assert!(found.equal, "{}: {:?}", model.name, found.max_abs_difference);
    }
}
