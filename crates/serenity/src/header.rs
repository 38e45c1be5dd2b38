//! A plan as a C header, for people who build a runtime of their own.
//!
//! It holds only numbers, so that it can be included anywhere: the sizes of the arena, the quantization of inputs and
//! outputs, and the offset of each tensor. Names of tensors become identifiers, with the original names in comments.

use crate::{Error, Format, Input, Plan};
use serenity_ir::Graph;
use serenity_memories::two_memories::TwoMemories;
use serenity_pipeline::{kernels_to_avoid, needs_by_kernels};
use serenity_report::ShortLabels;
use serenity_runtimes::{Arena, Content, Kernels, MemoryModelExt, Offsets, Piece, TFLM_ALIGNMENT};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// C compilers need only distinguish this many characters of an identifier.
const LONGEST_IDENTIFIER: usize = 63;

/// Longer names in the model are shortened to their distinctive part.
const LONGEST_LABEL: usize = 48;

/// The model's share of an identifier.
const LONGEST_PREFIX: usize = 24;

/// The column at which comments are wrapped.
const LINE: usize = 100;

/// How a build of TFLM tells which kernels it has: a condition for the preprocessor, empty for all other builds, and the
/// kernels, or a name for those that no plan is for.
///
/// TFLM's Makefile defines the name of the folder of optimised kernels in capitals (`CMSIS_NN`). Espressif's component
/// defines `ESP_NN` for itself alone, but ESP-IDF defines `ESP_PLATFORM` everywhere; ESP-NN chooses its assembly by the
/// two names of `sdkconfig.h`.
const BUILDS: &[(&str, Option<Kernels>, &str)] = &[
    (
        "(defined(ESP_NN) || defined(ESP_PLATFORM)) && defined(CONFIG_NN_OPTIMIZED) && defined(CONFIG_IDF_TARGET_ESP32P4)",
        None,
        "ESP_NN_P4",
    ),
    (
        "(defined(ESP_NN) || defined(ESP_PLATFORM)) && defined(CONFIG_NN_OPTIMIZED) && defined(CONFIG_IDF_TARGET_ESP32S3)",
        Some(Kernels::EspNnS3),
        "",
    ),
    ("defined(ESP_NN) || defined(ESP_PLATFORM)", Some(Kernels::EspNn), ""),
    ("defined(CMSIS_NN) && defined(__ARM_FEATURE_MVE)", Some(Kernels::CmsisNnMve), ""),
    ("defined(CMSIS_NN)", Some(Kernels::CmsisNn), ""),
    ("defined(XTENSA) || defined(CEVA) || defined(ARC_MLI) || defined(HEXAGON)", None, "THESE_KERNELS"),
    ("", Some(Kernels::Reference), ""),
];

/// The header of a plan for TFLM. `memories` are the offsets for a device with two memories.
///
/// # Errors
/// If the plan is not for TFLM, or belongs to another model.
pub fn c_header(input: &Input, plan: &Plan, memories: Option<&TwoMemories>) -> Result<String, Error> {
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    let orders = plan.orders();
    // A plan without offsets keeps those of the model's stored plan, or of the runtime's own planner.
    let own: Option<Offsets> = if plan.offsets.is_some() { None } else { input.plan() };
    let arena = plan
        .model
        .kernels()
        .and_then(|_| plan.model.arena(&graphs, &orders, plan.offsets.as_ref().or(own.as_ref())))
        .ok_or_else(|| Error::wrong_plan("it places no tensors; plan for TFLM".to_owned()))?;
    let mut header = Header { input, plan, graphs, prefix: prefix(input), text: String::new() };
    header.preamble();
    header.sizes(&arena);
    header.quantization();
    header.offsets(&arena);
    if let Some(memories) = memories {
        header.memories(memories);
    }
    let guard = header.guard();
    header.line(&format!("\n#endif /* {guard} */"));
    Ok(header.text)
}

/// Lines for the preprocessor that refuse a build of TFLM with other kernels than these, unless `{name}_ANY_KERNELS` is defined.
pub fn refuse_other_kernels(kernels: Kernels, name: &str) -> String {
    let mut text = format!(
        "\n#if defined(ESP_PLATFORM)\n#include \"sdkconfig.h\"\n#endif\n#if defined({name}_ANY_KERNELS)\n"
    );
    for (condition, set, other) in BUILDS {
        let line = if condition.is_empty() { "#else".to_owned() } else { format!("#elif {condition}") };
        text.push_str(&line);
        text.push('\n');
        if *set != Some(kernels.newest()) {
            let built = set.map_or_else(|| (*other).to_owned(), |set| set.to_string());
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "#error \"planned for the kernels {kernels}, and TFLM seems to be built with {built}; if not, define {name}_ANY_KERNELS\""
            );
        }
    }
    text.push_str("#endif\n");
    text
}

struct Header<'a> {
    input: &'a Input,
    plan: &'a Plan,
    graphs: Vec<&'a Graph>,
    /// The beginning of all identifiers.
    prefix: String,
    text: String,
}

impl Header<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn define(&mut self, name: &str, value: u64, remark: &str) {
        let prefix = &self.prefix;
        // Writing to a string does not fail. Without a suffix, a large number would not be unsigned everywhere.
        let _ = writeln!(self.text, "#define {prefix}_{name} {value}u /* {remark} */");
    }

    fn guard(&self) -> String {
        format!("{}_ARENA_H", self.prefix)
    }

    fn preamble(&mut self) {
        let plan = self.plan;
        let proof = if plan.is_optimal() {
            "proved: no order needs less".to_owned()
        } else if plan.least() == 0 {
            "not proved best".to_owned()
        } else {
            format!("not proved best: at most {:.1} % above the least possible", plan.gap() * 100.0)
        };
        let kernels = plan.model.kernels().map(|kernels| kernels.to_string()).unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        let title = comment(&model_name(self.input));
        self.line(&format!(
            "/* Where the tensors of `{title}` lie. Made by Serenity {version}; do not edit."
        ));
        self.line(&format!(
            " *\n * For TensorFlow Lite for Microcontrollers with kernels `{kernels}`; with others the results may be wrong."
        ));
        self.line(&format!(" * Order of the operators: {proof}."));
        self.line(" * Offsets are bytes from the start of the arena, and hold for this order of the operators only:");
        if plan.reorders() {
            self.order();
        } else {
            self.line(" *   as in the model");
        }
        self.line(" */");
        let guard = self.guard();
        self.line(&format!("#ifndef {guard}\n#define {guard}"));
    }

    fn order(&mut self) {
        let mut line = String::from(" *  ");
        for op in &self.plan.order {
            let number = format!(" {}", op.0);
            if line.len() + number.len() > LINE {
                self.line(&std::mem::replace(&mut line, String::from(" *  ")));
            }
            line.push_str(&number);
        }
        self.line(&line);
    }

    fn sizes(&mut self, arena: &Arena) {
        self.line("\n/* The arena. */");
        self.define("ARENA_ALIGNMENT", TFLM_ALIGNMENT, "the arena must begin at a multiple of this");
        self.define("ARENA_HEAD_BYTES", arena.bytes, "tensors and scratch");
        let Some(tail) = self.input.tail(self.plan.model) else {
            self.line("/* What TFLM keeps besides is known for .tflite models only. */");
            return;
        };
        let total = tail.needed(arena.bytes).arm32;
        self.define("ARENA_TAIL_BYTES", tail.arm32, "what TFLM keeps on a 32-bit device: an estimate");
        self.define("ARENA_TOTAL_BYTES", total, "head and tail, or more if TFLM needs it while it prepares");
        self.define(
            "ARENA_MARGIN_BYTES",
            tail.margin(arena.bytes),
            "add this: other builds of TFLM may need as much more",
        );
        self.sizes_by_kernels();
    }

    /// The whole arena with its margin per set of kernels, and the one of the build that includes the header.
    fn sizes_by_kernels(&mut self) {
        let (input, plan) = (self.input, self.plan);
        if plan.model.kernels().is_none_or(Kernels::are_emitted) {
            return;
        }
        let avoid = kernels_to_avoid(input, plan);
        let needs = needs_by_kernels(input, plan);
        let needs = needs.iter().filter(|need| !avoid.contains(&need.kernels));
        let sizes: Vec<(Kernels, u64)> = needs
            .filter_map(|need| {
                let tail = input.tail(plan.model.without_plan().with_kernels(need.kernels))?;
                Some((need.kernels, need.total? + tail.margin(need.arena)))
            })
            .collect();
        self.line("\n/* The whole arena with its margin, by the kernels that TFLM is built with. */");
        for (kernels, bytes) in &sizes {
            let name = format!("ARENA_BYTES_{}", identifier(&kernels.to_string()));
            self.define(&name, *bytes, kernels.about().cores);
        }
        self.line("/* The arena of this build. TFLM's own builds define these names; give them to this file too. */");
        self.line("#if defined(ESP_PLATFORM)\n#include \"sdkconfig.h\"\n#endif");
        let prefix = self.prefix.clone();
        let mut keyword = "#if";
        for (condition, kernels, other) in BUILDS {
            let name =
                kernels.map_or_else(|| (*other).to_owned(), |kernels| identifier(&kernels.to_string()));
            let planned = sizes.iter().find(|(set, _)| Some(set.newest()) == *kernels);
            let name = planned.map_or(name, |(set, _)| identifier(&set.to_string()));
            // Not an error by itself: who does not use the size may include the header.
            let size = if planned.is_some() { "ARENA_BYTES" } else { "IS_NOT_PLANNED_FOR" };
            self.line(&if condition.is_empty() {
                "#else".to_owned()
            } else {
                format!("{keyword} {condition}")
            });
            self.line(&format!("#define {prefix}_ARENA_BYTES {prefix}_{size}_{name}"));
            keyword = "#elif";
        }
        self.line("#endif");
    }

    /// The quantization of inputs and outputs.
    fn quantization(&mut self) {
        let main = self.graphs[0];
        let inputs = main.inputs().iter().enumerate().map(|(position, id)| ("INPUT", position, *id));
        let outputs = main.outputs().iter().enumerate().map(|(position, id)| ("OUTPUT", position, *id));
        let labels = ShortLabels::of(main, LONGEST_LABEL);
        let mut is_first = true;
        for (kind, position, id) in inputs.chain(outputs) {
            let tensor = main.tensor(id);
            let (Some(quantization), Some(dtype)) = (&tensor.quantization, &tensor.dtype) else { continue };
            let [scale] = quantization.scales[..] else { continue };
            if !scale.is_finite() {
                continue;
            }
            if std::mem::replace(&mut is_first, false) {
                self.line("\n/* Quantised inputs and outputs: real = SCALE * (q - ZERO_POINT). */");
            }
            let zero_point = quantization.zero_points.first().copied().unwrap_or(0);
            let (prefix, label) = (&self.prefix, comment(&labels.tensors[id.index()]));
            let _ = writeln!(
                self.text,
                "#define {prefix}_{kind}_{position}_SCALE {scale:?}f /* {label}, {dtype} */"
            );
            let _ = writeln!(self.text, "#define {prefix}_{kind}_{position}_ZERO_POINT ({zero_point})");
        }
    }

    fn offsets(&mut self, arena: &Arena) {
        self.line("\n/* Tensors: name in the model, bytes. */");
        let mut names = self.names();
        let is_tensor = |piece: &&Piece| matches!(piece.content, Content::Tensor { .. });
        let (tensors, scratch): (Vec<&Piece>, Vec<&Piece>) = arena.pieces.iter().partition(is_tensor);
        for Piece { content, bytes, offset } in tensors {
            self.place("OFFSET", *content, *bytes, *offset, &mut names);
        }
        if !scratch.is_empty() {
            self.line("\n/* Scratch: of which operator, bytes. TFLM places it by itself, and just so. */");
        }
        for Piece { content, bytes, offset } in scratch {
            self.place("SCRATCH", *content, *bytes, *offset, &mut names);
        }
    }

    fn memories(&mut self, memories: &TwoMemories) {
        let mut names = self.names();
        for filled in &memories.division.memories {
            let memory = comment(&filled.memory.name);
            let part = identifier(&filled.memory.name);
            let part: String = part.chars().take(16).collect();
            self.line(&format!(
                "\n/* In memory `{memory}`: {} bytes read and {} written a run. */",
                filled.traffic.read, filled.traffic.written
            ));
            let name = names.unique("MEMORY", &format!("{part}_BYTES"));
            self.define(&name, filled.used, &format!("of {} bytes", filled.memory.capacity));
            for &(buffer, offset) in &filled.buffers {
                let bytes = memories.arena.problem.buffers()[buffer].size;
                self.place(
                    &format!("{part}_OFFSET"),
                    memories.arena.contents[buffer],
                    bytes,
                    offset,
                    &mut names,
                );
            }
        }
    }

    fn place(&mut self, kind: &str, content: Content, bytes: u64, offset: u64, names: &mut Names) {
        let (graph, label) = match content {
            Content::Tensor { graph, tensor } => (graph, names.labels[graph].tensors[tensor.index()].clone()),
            Content::Scratch { graph, op } => (graph, names.labels[graph].ops[op.index()].clone()),
        };
        let kind = if graph == 0 { kind.to_owned() } else { format!("{kind}_GRAPH{graph}") };
        let name = names.unique(&kind, &label);
        self.define(&name, offset, &format!("{}, {bytes}", comment(&label)));
    }

    fn names(&self) -> Names {
        let labels = self.graphs.iter().map(|graph| ShortLabels::of(graph, LONGEST_LABEL)).collect();
        Names::new(LONGEST_IDENTIFIER - self.prefix.len(), labels)
    }
}

/// The name of the model, without its folder.
fn model_name(input: &Input) -> String {
    let graph_name = input.graph().name();
    let stem = || Path::new(&input.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    match input.file.format() {
        Format::Json if !graph_name.is_empty() => graph_name.to_owned(),
        _ => stem().filter(|stem| stem != "-").unwrap_or_else(|| "model".to_owned()),
    }
}

fn prefix(input: &Input) -> String {
    let name = identifier(&model_name(input));
    // Identifiers that begin with an underscore are reserved for the compiler.
    let name =
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("MODEL_{name}") };
    let name: String = name.chars().take(LONGEST_PREFIX).collect();
    name.trim_end_matches('_').to_owned()
}

/// Capitals, digits and single underscores.
fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            text.push(c.to_ascii_uppercase());
        } else if !text.is_empty() && !text.ends_with('_') {
            text.push('_');
        }
    }
    text.trim_end_matches('_').to_owned()
}

/// Text that cannot end a comment, begin one, or break its line.
fn comment(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        let hidden = c.is_control()
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
        if hidden {
            safe.extend(c.escape_default());
        } else {
            if (safe.ends_with('*') && c == '/') || (safe.ends_with('/') && c == '*') {
                safe.push(' ');
            }
            safe.push(c);
        }
    }
    safe
}

/// Hands out every identifier once.
struct Names {
    longest: usize,
    /// The labels of ops and tensors, per graph.
    labels: Vec<ShortLabels>,
    /// How often each identifier was asked for.
    given: BTreeMap<String, u64>,
}

impl Names {
    /// `room` is the number of characters left after the prefix.
    fn new(room: usize, labels: Vec<ShortLabels>) -> Self {
        // One for the underscore, six for a number behind it.
        Self { longest: room - 7, labels, given: BTreeMap::new() }
    }

    fn unique(&mut self, kind: &str, name: &str) -> String {
        let mut name = identifier(name);
        let room = self.longest.saturating_sub(kind.len() + 1).max(8);
        if name.len() > room {
            // The end of a long name is more distinctive than its beginning.
            name = name.split_off(name.len() - room);
        }
        let name = match name.trim_start_matches('_') {
            "" => format!("{kind}_UNNAMED"),
            name => format!("{kind}_{name}"),
        };
        let mut candidate = name.clone();
        loop {
            let count = self.given.entry(name.clone()).or_insert(0);
            *count += 1;
            if *count > 1 {
                candidate = format!("{name}_{count}");
            }
            if candidate == name || !self.given.contains_key(&candidate) {
                self.given.entry(candidate.clone()).or_insert(1);
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, load};
    use serenity_ir::{GraphBuilder, Tensor};
    use serenity_pipeline::plan_graphs;
    use serenity_runtimes::MemoryModel;

    #[test]
    fn identifiers_are_unique_whatever_the_names() {
        let mut names = Names::new(50, Vec::new());
        let given: Vec<String> = ["a/b", "a.b", "A B_2", "a_b", "", "漢", "x_2", "x", "x"]
            .map(|name| names.unique("OFFSET", name))
            .into();
        assert_eq!(given[..2], ["OFFSET_A_B", "OFFSET_A_B_2"]);
        assert_eq!(given[4], "OFFSET_UNNAMED");
        let distinct: std::collections::BTreeSet<&String> = given.iter().collect();
        assert_eq!(distinct.len(), given.len(), "{given:?}");
        let long = names.unique("OFFSET", &"long/".repeat(100));
        assert!(long.len() <= 50 && long.ends_with("LONG_LONG"), "{long}");
    }

    #[test]
    fn a_name_cannot_leave_its_comment() {
        for name in ["*/ int x; /*", "*/*", "**//", "a\n*/", "/*/"] {
            let safe = comment(name);
            assert!(!safe.contains("*/") && !safe.contains("/*") && !safe.contains('\n'), "{safe}");
        }
    }

    /// Two tensors with hostile names, a third with none.
    fn hostile() -> Input {
        let mut g = GraphBuilder::new("9 */ lives\n");
        let x = g.input(Tensor::sized("*/ #error", 64));
        let a = g.op("f", "CONV_2D", &[x], Tensor::sized("*/ #ERROR", 64));
        let b = g.op("g", "CONV_2D", &[a], Tensor::sized("", 64));
        g.output(b);
        Input { name: "/home/someone/secret/net.json".to_owned(), ..g.build().unwrap().into() }
    }

    #[test]
    fn a_header_says_what_the_plan_says() {
        for input in [load("zoo:swiftnet-b").unwrap(), hostile()] {
            let options =
                Options { model: MemoryModel::Tflm(Kernels::Any), plan_arena: true, ..Options::default() };
            let plan = plan_graphs(input.graphs(), &options).unwrap();
            let header = c_header(&input, &plan, None).unwrap();
            assert!(!header.contains("secret"), "{header}");
            let head = format!("_ARENA_HEAD_BYTES {}u ", plan.after.needs());
            assert!(header.contains(&head), "{header}");
            assert_eq!(
                header.matches("_OFFSET_").count(),
                input.graph().tensors().iter().filter(|tensor| tensor.bytes > 0).count()
            );
            assert_compiles(&header);
        }
    }

    #[test]
    fn other_runtimes_have_no_header() {
        let input = load("zoo:swiftnet-b").unwrap();
        let plan = plan_graphs(input.graphs(), &Options::default()).unwrap();
        assert!(c_header(&input, &plan, None).is_err());
    }

    fn assert_compiles(header: &str) {
        let folder = tempfile::tempdir().unwrap();
        let (path, program) = (folder.path().join("arena.h"), folder.path().join("use.c"));
        std::fs::write(&path, header).unwrap();
        std::fs::write(
            &program,
            "#include \"arena.h\"\n#include \"arena.h\"\nint main(void) { return 0; }\n",
        )
        .unwrap();
        let run = std::process::Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"])
            .arg(&program)
            .output();
        match run {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => serenity_judges::skip(
                serenity_judges::Need::Compiler,
                format!("there is no `cc` to try the header with ({error})"),
            ),
        }
    }
}
