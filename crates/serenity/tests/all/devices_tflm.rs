//! Models that TFLM itself runs in the memories of a device, beside the same models in arenas of their own.
//!
//! This needs a build of TFLM: `SERENITY_TFLM` holds the flags with which a C++ program is compiled against it and
//! linked with it. Without one, a compiler still reads the header, and a program asks the planner in it what TFLM would
//! ask.
//!
//! For another processor, `SERENITY_TFLM_PREFIX` is what the names of its compilers begin with (`arm-linux-gnueabihf-`), and
//! `SERENITY_TFLM_RUN` the emulator of its programs (`qemu-arm`).

use crate::common::exported;
use crate::devices::{Said, around, copies, planned, said};
use crate::emitted_c::has;
use serenity::ir::{Graph, Operator};
use serenity::zoo::Precision;
use serenity::{Format, Options, load, optimize};
use serenity_device::{App, Device, Form, Made, Model, Request, Search, plan};
use serenity_judges::{Need, shared, skip};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The kernels of the models used here.
const OPERATORS: &[&str] = &[
    "Add",
    "AveragePool2D",
    "AssignVariable",
    "CallOnce",
    "Concatenation",
    "Conv2D",
    "DepthwiseConv2D",
    "Dequantize",
    "FullyConnected",
    "Logistic",
    "MaxPool2D",
    "Mean",
    "Mul",
    "Pad",
    "Quantize",
    "ReadVariable",
    "Relu",
    "Relu6",
    "Reshape",
    "Softmax",
    "SplitV",
    "StridedSlice",
    "VarHandle",
];

/// Models by name: one from its file, one as it came, and what compares them.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/micro_resource_variable.h"
#include "tensorflow/lite/schema/schema_generated.h"

static unsigned state = 1;
static unsigned draw() { return (state = state * 1664525u + 1013904223u) >> 16; }

static std::vector<char> bytes_of(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) abort();
  fseek(file, 0, SEEK_END);
  std::vector<char> bytes(static_cast<size_t>(ftell(file)) + 16);
  rewind(file);
  if (!fread(bytes.data(), 1, bytes.size(), file)) abort();
  fclose(file);
  return bytes;
}

static TfLiteStatus by_itself(tflite::MicroInterpreter& interpreter) { return interpreter.AllocateTensors(); }

struct Net {
  Net(const char* path, const tflite::MicroOpResolver& resolver, tflite::MicroAllocator* allocator, int variables,
      TfLiteStatus (*allocate)(tflite::MicroInterpreter&) = by_itself)
      : bytes(bytes_of(path)),
        interpreter(tflite::GetModel(bytes.data()), resolver, allocator,
                    variables ? tflite::MicroResourceVariables::Create(allocator, variables) : nullptr),
        status(allocate(interpreter)) {}
  std::vector<char> bytes;
  tflite::MicroInterpreter interpreter;
  TfLiteStatus status;
};

static void same(const char* name, int round, Net& alone, size_t output, const void* placed) {
  const TfLiteTensor* expected = alone.interpreter.output(output);
  if (memcmp(expected->data.raw, placed, expected->bytes)) {
    printf("%s differs in round %d\n", name, round);
    exit(1);
  }
}
"#;

/// How programs with TFLM are made and run.
struct Tools {
    c: String,
    cpp: String,
    flags: Vec<String>,
    /// Of both languages.
    common: &'static [&'static str],
    emulator: Option<String>,
}

impl Tools {
    /// Those of this machine, with the address sanitiser.
    fn native(flags: &[&str]) -> Self {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let common = &["-O1", "-g", "-fsanitize=address"];
        Self { c: "cc".to_owned(), cpp: "c++".to_owned(), flags, common, emulator: None }
    }

    /// Those for the TFLM that the environment names.
    fn with_tflm() -> Option<Self> {
        let flags = std::env::var("SERENITY_TFLM").ok();
        let mut tools =
            Self::native(&flags.iter().flat_map(|flags| flags.split_whitespace()).collect::<Vec<_>>());
        if let Ok(prefix) = std::env::var("SERENITY_TFLM_PREFIX") {
            (tools.c, tools.cpp) = (format!("{prefix}gcc"), format!("{prefix}g++"));
            // Emulators of programs have no room for the sanitiser's shadow.
            tools.common = &["-O1", "-g", "-static"];
            tools.emulator = std::env::var("SERENITY_TFLM_RUN").ok();
        }
        if flags.is_none() || !has(&tools.cpp) {
            let reason =
                "SERENITY_TFLM does not hold the flags for a program with TFLM, or there is no compiler";
            skip(Need::Tflm, reason);
            return None;
        }
        Some(tools)
    }

    /// The command that runs a program.
    fn running(&self, program: &Path) -> Command {
        let Some(emulator) = &self.emulator else { return Command::new(program) };
        let mut command = Command::new(emulator);
        command.arg(program);
        command
    }
}

/// How a program names an input or output of a model of the device.
fn end_of(model: &Model, is_input: bool, index: usize) -> String {
    let (name, end) = (&model.name, if is_input { "input" } else { "output" });
    match model.form {
        Form::Tflm(_) => format!("net_{name}.interpreter.{end}({index})->data.raw"),
        Form::Code => format!("reinterpret_cast<char*>({name}_{end}_{index})"),
        Form::Places => unreachable!("it is run by something"),
    }
}

/// A program that runs the models of a device in rounds, each model in a round or not, and compares each with itself in
/// an arena of its own.
fn program(device: &Device, rounds: u32) -> String {
    let app = &device.app.name;
    let mut text = format!(
        "#include \"device/tflm.h\"\n{PROGRAM}\n{}int main() {{\n  static tflite::MicroMutableOpResolver<{}> ops;\n",
        copies(device),
        OPERATORS.len()
    );
    for operator in OPERATORS {
        let _ = writeln!(text, "  if (ops.Add{operator}() != kTfLiteOk) abort();");
    }
    for (index, model) in device.app.models.iter().enumerate() {
        let (name, file) = (&model.name, &model.file);
        let _ = write!(
            text,
            "  static uint8_t arena_{name}[1 << 20];\n  \
             static Net alone_{name}(\"{file}\", ops, tflite::MicroAllocator::Create(arena_{name}, sizeof arena_{name}), 16);\n  \
             if (alone_{name}.status != kTfLiteOk) return 20 + {index};\n"
        );
        if model.form != Form::Code {
            // As many as the model has, so that the allocator is as full as it ever is.
            let input = load(file).unwrap();
            let ops = input.graphs().iter().flat_map(Graph::ops);
            let variables = ops.filter(|op| op.kind.operator() == Operator::VAR_HANDLE).count();
            let _ = write!(
                text,
                "  static Net net_{name}(\"device/{name}/model.tflite\", ops, {app}::{name}_allocator(), {variables}, {app}::allocate_{name});\n  \
                 if (net_{name}.status != kTfLiteOk) return 40 + {index};\n"
            );
        }
    }
    let _ = writeln!(
        text,
        "  for (int round = 0; round < {rounds}; ++round) {{\n  bool ran[{}] = {{}};",
        device.app.models.len()
    );
    for (index, model) in device.app.models.iter().enumerate() {
        let name = &model.name;
        let needs: Vec<String> = model.feeds.iter().map(|feed| format!(" && ran[{}]", feed.from)).collect();
        let _ = writeln!(text, "  if (draw() % 4{}) {{", needs.concat());
        let graph = load(&model.file).unwrap();
        for input in 0..graph.graph().inputs().len() {
            let alone = format!("alone_{name}.interpreter.input({input})");
            let _ = match model.feeds.iter().find(|feed| feed.input == input) {
                Some(feed) => writeln!(
                    text,
                    "    memcpy({alone}->data.raw, alone_{}.interpreter.output({})->data.raw, {alone}->bytes);",
                    device.app.models[feed.from].name, feed.output
                ),
                None => writeln!(
                    text,
                    "    for (size_t byte = 0; byte < {alone}->bytes; ++byte) {alone}->data.raw[byte] = {}[byte] = static_cast<char>(draw());",
                    end_of(model, true, input)
                ),
            };
        }
        let [before, after] = around(device, index);
        text.push_str(&before);
        let _ = match model.form {
            Form::Tflm(_) => {
                writeln!(text, "    if ({app}::run_{name}(net_{name}.interpreter) != kTfLiteOk) abort();")
            }
            Form::Code => writeln!(text, "    {app}_run_{name}();"),
            Form::Places => unreachable!("it is run by something"),
        };
        text.push_str(&after);
        let _ = writeln!(
            text,
            "    if (alone_{name}.interpreter.Invoke() != kTfLiteOk) abort();\n    ran[{index}] = true;"
        );
        for output in 0..graph.graph().outputs().len() {
            let end = end_of(model, false, output);
            let _ = writeln!(text, "    same(\"{name}\", round, alone_{name}, {output}, {end});");
        }
        text.push_str("  }\n");
    }
    text.push_str("  }\n  return 0;\n}\n");
    text
}

/// Builds and runs a program in a folder; returns its exit code and what it said.
fn run(folder: &Path, tools: &Tools, device: &Device, main: &str) -> (Option<i32>, String) {
    let files = device.files().unwrap();
    for (name, bytes) in &files {
        let path = folder.join("device").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
    }
    let mut sources = vec!["main.cc".to_owned()];
    let is_c = |name: &&str| Path::new(name).extension().is_some_and(|extension| extension == "c");
    for name in files.iter().map(|(name, _)| name.as_str()).filter(is_c) {
        let (source, object) = (format!("device/{name}"), format!("{}.o", name.replace('/', "_")));
        compile(folder, &tools.c, &[tools.common, &["-std=gnu11", "-c", &source, "-o", &object]].concat());
        sources.push(object);
    }
    std::fs::write(folder.join("main.cc"), main).unwrap();
    let mut arguments = [tools.common, &["-std=c++17", "-o", "main"]].concat();
    arguments.extend(sources.iter().chain(&tools.flags).map(String::as_str));
    compile(folder, &tools.cpp, &arguments);
    let ran = tools.running(&folder.join("main")).current_dir(folder).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (ran.status.code(), said)
}

fn compile(folder: &Path, compiler: &str, arguments: &[&str]) {
    let built = Command::new(compiler).args(arguments).current_dir(folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

const TFLM: &str = "as = \"tflm\"\nkernels = \"reference\"";

const TWO: &str = "[[memory]]\nname = \"fast\"\nsize = 20000\n[[memory]]\nname = \"slow\"\nsize = 1000000\nread = 4\nwrite = 3";

#[test]
fn tflm_computes_the_same_in_two_memories() {
    let Some(tools) = Tools::with_tflm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let net = |name| exported(name, Format::TfLite, Precision::Int8, folder.path());
    let (swiftnet, branches) = (net("swiftnet-c"), net("branches"));
    let mut models =
        vec![said("one", &swiftnet, TFLM), said("two", &branches, TFLM), said("code", &swiftnet, "")];
    if let Some(shared) = shared("models") {
        for (name, file) in [
            ("kws", "mlperf_tiny_kws_int8"),
            ("resnet8", "mlperf_tiny_resnet8_int8"),
            ("nabu", "microwakeword_okay_nabu"),
        ] {
            models.push(said(name, &shared.join(format!("{file}.tflite")), TFLM));
        }
    }
    let device = planned(folder.path(), "together = [[\"one\", \"two\"]]", TWO, &models);
    assert!(device.plan.parts.iter().any(|parts| parts.len() == 2));
    // What may run at the same time does not share an allocator; all others share the first.
    let sharing: Vec<usize> = device.kept().iter().map(|kept| kept.models.len()).collect();
    assert_eq!(sharing, [1, models.len() - 2, 1]);
    let (code, said) = run(folder.path(), &tools, &device, &program(&device, 60));
    assert_eq!(code, Some(0), "{said}");
}

/// A chain of models: at once, by way of a model in C, and past others. Where there is room, nothing is copied between
/// two that follow one another.
#[test]
fn tflm_is_fed_by_what_ran_before() {
    let folder = tempfile::tempdir().unwrap();
    let net = |name| exported(name, Format::TfLite, Precision::Int8, folder.path());
    let (chain, swiftnet) = (net("branches?branches=1"), net("swiftnet-c"));
    let feed = |from: &str| format!("[[model.feed]]\nfrom = \"{from}\"");
    let tflm = |from: &str| format!("{TFLM}\n{}", feed(from));
    let (after_one, after_two, after_code, code) = (tflm("one"), tflm("two"), tflm("code"), feed("three"));
    let chained = [
        said("one", &chain, TFLM),
        said("two", &chain, &after_one),
        said("three", &chain, &after_two),
        said("code", &chain, &code),
        said("four", &chain, &after_code),
        said("late", &chain, &after_two),
    ];
    let large = said("large", &swiftnet, TFLM);
    let copies = |device: &Device| {
        let files = device.files().unwrap();
        let (_, text) = files.iter().find(|(name, _)| name == "device.c").unwrap();
        String::from_utf8_lossy(text).matches("memmove(").count()
    };
    let one = "[[memory]]\nname = \"slow\"\nsize = 200000";
    let with = |memories: &str, models: &[Said]| planned(folder.path(), "", memories, models);
    // Each writes its output over its input, a little lower: without room beside it, the next one cannot begin there.
    let narrow = with(one, &chained[..5]);
    let wide = with(one, &[&chained[..5], std::slice::from_ref(&large)].concat());
    let all = with(one, &[&chained[..], &[large]].concat());
    let divided = with(&format!("[[memory]]\nname = \"fast\"\nsize = 1024\n{one}\nread = 3"), &chained);
    // To the model in C and from it; and for the last one aside and back.
    assert_eq!([&narrow, &wide, &all, &divided].map(copies), [4, 2, 4, 6]);
    let Some(tools) = Tools::with_tflm() else { return };
    for device in [all, divided] {
        let (code, said) = run(folder.path(), &tools, &device, &program(&device, 60));
        assert_eq!(code, Some(0), "{} copies: {said}", copies(&device));
    }
}

/// What TFLM asks for is not what the table says: another model, or a file with a plan of its own.
#[test]
fn tflm_is_refused_what_was_not_planned() {
    let Some(tools) = Tools::with_tflm() else { return };
    let folder = tempfile::tempdir().unwrap();
    let net = |name| exported(name, Format::TfLite, Precision::Int8, folder.path());
    let (swiftnet, branches) = (net("swiftnet-c"), net("branches"));
    let models = [said("one", &swiftnet, TFLM)];
    let device = planned(folder.path(), "", TWO, &models);
    // Nobody said which model this is.
    let main = program(&device, 0).replace(", app::allocate_one)", ")");
    let (code, said) = run(folder.path(), &tools, &device, &main);
    assert!(code == Some(40) && said.contains("call allocate_NAME"), "{code:?}: {said}");
    let planned_file = folder.path().join("planned.tflite");
    let input = load(swiftnet.to_str().unwrap()).unwrap();
    let found = optimize(&input, &Options::for_input(&input)).unwrap();
    std::fs::write(&planned_file, found.to_bytes().unwrap()).unwrap();
    for (file, expected) in
        [(&branches, "plan for this model and these kernels"), (&planned_file, "a plan of its own")]
    {
        let main = program(&device, 0).replace("device/one/model.tflite", file.to_str().unwrap());
        let (code, said) = run(folder.path(), &tools, &device, &main);
        assert!(code == Some(40) && said.contains(expected), "{code:?}: {said}");
    }
}

/// The least of TFLM's interface that the header needs.
const INTERFACE: &str = r#"
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
enum TfLiteStatus { kTfLiteOk, kTfLiteError };
#define MicroPrintf(...) (void)(printf(__VA_ARGS__), printf("\n"))
namespace tflite {
struct MicroMemoryPlanner {
  virtual ~MicroMemoryPlanner() {}
  virtual TfLiteStatus AddBuffer(int, int, int) = 0;
  virtual TfLiteStatus AddBuffer(int, int, int, int) { return kTfLiteError; }
  virtual size_t GetMaximumMemorySize() = 0;
  virtual int GetBufferCount() = 0;
  virtual TfLiteStatus GetOffsetForBuffer(int, int*) = 0;
  virtual TfLiteStatus Init(unsigned char*, int) { return kTfLiteOk; }
  virtual bool preserves_all_tensors() const = 0;
};
struct MicroAllocator {
  static MicroAllocator* Create(uint8_t* arena, size_t size, MicroMemoryPlanner* planner) {
    static MicroAllocator only;
    only = {arena, size, planner};
    return &only;
  }
  uint8_t* arena;
  size_t size;
  MicroMemoryPlanner* planner;
};
struct MicroInterpreter {
  TfLiteStatus Invoke() { return kTfLiteOk; }
  TfLiteStatus AllocateTensors() { return ask(*allocator->planner); }
  MicroAllocator* allocator;
  TfLiteStatus (*ask)(MicroMemoryPlanner&);
};
}  // namespace tflite
"#;

/// Writes headers with the names of TFLM's, which have that interface.
fn write_interface(folder: &Path) {
    for header in ["memory_planner/micro_memory_planner", "micro_allocator", "micro_interpreter", "micro_log"]
    {
        let path = folder.join(format!("tensorflow/lite/micro/{header}.h"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if header == "micro_log" {
            INTERFACE
        } else {
            "#include \"tensorflow/lite/micro/micro_log.h\"\n"
        };
        std::fs::write(path, text).unwrap();
    }
}

/// Asks the planner of `one` for these buffers; returns the exit code: 0, or 1 + the number of the question that was refused.
fn asked(device: &Device, folder: &Path, tools: &Tools, requests: &[Request]) -> (Option<i32>, String) {
    let mut main = "#include \"device/tflm.h\"\nstatic int refused;\n\
                    static TfLiteStatus no(int question) { refused = question; return kTfLiteError; }\n\
                    static TfLiteStatus ask(tflite::MicroMemoryPlanner& planner) {\n  planner.Init(nullptr, 0);\n  int offset;\n"
        .to_owned();
    for (index, Request { bytes, first, last, .. }) in requests.iter().enumerate() {
        let code = index + 1;
        let _ = writeln!(
            main,
            "  if (planner.AddBuffer({bytes}, {first}, {last}) != kTfLiteOk) return no({code});"
        );
    }
    // Every byte of every buffer lies in an array, which the sanitiser knows.
    let _ = write!(
        main,
        "  const int sizes[] = {{{}}};\n  for (int buffer = 0; buffer < planner.GetBufferCount(); ++buffer) {{\n    \
         if (planner.GetOffsetForBuffer(buffer, &offset) != kTfLiteOk) return no(100);\n    \
         for (int byte = 0; byte < sizes[buffer]; ++byte) *reinterpret_cast<volatile uint8_t*>(reinterpret_cast<intptr_t>(app::one_allocator()->arena) + offset + byte) = 1;\n  \
         }}\n  return kTfLiteOk;\n}}\nint main() {{\n  tflite::MicroInterpreter interpreter = {{app::one_allocator(), ask}};\n  \
         const bool is_ok = app::allocate_one(interpreter) == kTfLiteOk;\n  if (is_ok == (refused != 0)) return 101;\n  \
         const int question = refused;\n  if (interpreter.AllocateTensors() == kTfLiteOk) return 102;\n  return question;\n}}\n",
        requests.iter().map(|request| request.bytes.to_string()).collect::<Vec<_>>().join(", ")
    );
    run(folder, tools, device, &main)
}

#[test]
fn the_planner_answers_what_it_knows_and_nothing_else() {
    if !has("c++") || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_interface(folder.path());
    let tools = Tools::native(&["-I.", "-Wall", "-Wextra", "-Werror"]);
    let swiftnet = exported("swiftnet-c", Format::TfLite, Precision::Int8, folder.path());
    let device = planned(folder.path(), "", TWO, &[said("one", &swiftnet, TFLM), said("two", &swiftnet, "")]);
    let Made::Tflm(tflm) = &device.models[0].made else { panic!("for TFLM") };
    assert_eq!(device.plan.parts[0].len(), 2, "it lies in two memories");
    let right = tflm.requests.clone();
    let ask = |requests: &[Request]| asked(&device, folder.path(), &tools, requests);
    // The program then asks without the call that names the model.
    let expected = "call allocate_NAME(interpreter) in place of interpreter.AllocateTensors()\n";
    assert_eq!(ask(&right), (Some(0), expected.to_owned()));
    let changed = |change: fn(&mut Request)| {
        let mut requests = right.clone();
        change(&mut requests[2]);
        requests
    };
    let others: [fn(&mut Request); 3] =
        [|request| request.bytes += 16, |request| request.first += 1, |request| request.last -= 1];
    for change in others {
        let (code, said) = ask(&changed(change));
        assert!(code == Some(3) && said.starts_with("one: buffer 2 is "), "{code:?}: {said}");
    }
    let (code, said) = ask(&right[..right.len() - 1]);
    assert!(code == Some(100) && said.contains("plan for this model"), "{code:?}: {said}");
    let longer: Vec<Request> = right.iter().chain(&right[..1]).copied().collect();
    assert_eq!(ask(&longer).0, Some(right.len() as i32 + 1));
}

/// Keywords as names of models and memories, and of the file of the device: all are parts of longer names.
#[test]
fn keywords_are_names_too() {
    if !has("c++") || !has("cc") {
        return skip(Need::Compiler, "there is no C++ compiler");
    }
    let folder = tempfile::tempdir().unwrap();
    let chain = exported("branches?branches=1", Format::TfLite, Precision::Int8, folder.path());
    let file = chain.to_str().unwrap();
    let text = format!(
        "[[memory]]\nname = \"new\"\nsize = 200000\n[[model]]\nname = \"class\"\nfile = '{file}'\n{TFLM}\n\
         [[model]]\nname = \"int\"\nfile = '{file}'\n[[model.feed]]\nfrom = \"class\"\n"
    );
    let path = folder.path().join("namespace.toml");
    let app = App::read(path.to_str().unwrap(), &text, &|_| Ok(200_000)).unwrap();
    assert_eq!(app.name, "namespace_device");
    let device = plan("namespace.toml", app, &Search::default()).unwrap();
    write_interface(folder.path());
    let main = "#include \"device/tflm.h\"\nint main() {\n  tflite::MicroInterpreter interpreter = \
                {namespace_device::class_allocator(), nullptr};\n  namespace_device::run_class(interpreter);\n  \
                namespace_device_run_int();\n  return 0;\n}\n";
    let tools = Tools::native(&["-I."]);
    let (code, said) = run(folder.path(), &tools, &device, main);
    assert_eq!(code, Some(0), "{said}");
}
