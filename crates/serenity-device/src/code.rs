//! The C of a device: a folder for each model, one array for each memory, and the calls in between.

use crate::app::{App, Feed, Form};
use crate::plan::Handed;
use crate::planned::Made;
use crate::tflm_code::Allocator;
use crate::{Device, DeviceError};
use serenity_emit::Emitted;
use serenity_runtimes::TflmArena;
use std::fmt::Write;

/// What goes on top of every file.
const TOP: &str = "Written by serenity; do not edit, write it again. This code is yours: use it under whatever licence you like.";

/// Before an array that any tensor may lie in.
const ALIGNED: &str = "#ifdef __cplusplus\nalignas(16)\n#else\n_Alignas(16)\n#endif\n";

impl Device {
    /// The files: names in the folder, and contents.
    ///
    /// # Errors
    /// If a model cannot be made C of.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, DeviceError> {
        let mut files = vec![
            ("device.h".to_owned(), self.header().into_bytes()),
            ("device.c".to_owned(), self.source().into_bytes()),
            ("memories.h".to_owned(), self.places().into_bytes()),
            ("device.html".to_owned(), self.page().to_html().into_bytes()),
        ];
        if self.tflm().next().is_some() {
            files.push(("tflm.h".to_owned(), self.tflm_header(TOP).into_bytes()));
        }
        for (model, said) in self.app.models.iter().enumerate() {
            let in_folder = |(name, bytes): (&str, Vec<u8>)| (format!("{}/{name}", said.name), bytes);
            match &self.models[model].made {
                Made::Places(_) => {}
                Made::Tflm(tflm) => files.push(in_folder(("model.tflite", tflm.file.clone()))),
                Made::Code { code, .. } => {
                    let with_places = |(name, text): &(&'static str, String)| {
                        let includes = if *name == "model.h" { "#include \"../memories.h\"\n" } else { "" };
                        in_folder((name, format!("{includes}{text}").into_bytes()))
                    };
                    files.extend(self.code(model, code)?.files.iter().map(with_places));
                }
            }
        }
        Ok(files)
    }

    /// The code of one model, where it lies.
    fn code(&self, model: usize, code: &Emitted) -> Result<Emitted, DeviceError> {
        Ok(match &self.plan.divided[model] {
            Some(divided) => self.models[model].code_in(divided, &self.app.models[model].name)?,
            None => code.clone(),
        })
    }

    /// `memories.h`: where everything lies.
    fn places(&self) -> String {
        let (app, upper) = (&self.app.name, self.app.name.to_uppercase());
        let mut text = format!(
            "/* {app}: which memory holds what.\n * {TOP}\n */\n#ifndef {upper}_MEMORIES_H\n#define {upper}_MEMORIES_H\n\n\
             #include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
        );
        for (memory, filled) in self.app.memories.iter().zip(&self.plan.memories) {
            let (name, bytes) = (&memory.name, filled.shared.max(1));
            let array = format!("{}_{}", upper, name.to_uppercase());
            let _ = write!(
                text,
                "\n/* `{name}`, {} bytes: models that never run at the same time share this array; {} more are state. */\n\
                 #define {array}_BYTES {bytes}\n#define {array}_IN{}\nextern uint8_t {app}_{name}[{array}_BYTES];\n",
                memory.size,
                filled.state,
                section(memory.section.as_deref())
            );
        }
        for (said, parts) in self.app.models.iter().zip(&self.plan.parts) {
            text.push('\n');
            for (number, part) in parts.iter().enumerate() {
                let array = if number == 0 { String::new() } else { format!("_{}", number + 1) };
                let (name, memory) = (&said.name, &self.app.memories[part.memory].name);
                let _ = writeln!(text, "#define {name}_arena{array} ({app}_{memory} + {})", part.offset);
            }
            let memory = self.app.memories[said.state].name.to_uppercase();
            let _ = writeln!(text, "#define {}_STATE_IN {upper}_{memory}_IN", said.name.to_uppercase());
        }
        self.tflm_ports(&mut text);
        for Allocator { name, models, bytes: TflmArena { arm32, x86_64 }, .. } in self.allocators() {
            let (upper, models) = (name.to_uppercase(), self.names(&models));
            // TFLM keeps pointers.
            let _ = write!(
                text,
                "\n/* What TFLM keeps for {models}. */\n#if UINTPTR_MAX > 0xffffffffu\n#define {upper}_KEPT_BYTES {x86_64}\n#else\n\
                 #define {upper}_KEPT_BYTES {arm32}\n#endif\nextern uint8_t {app}_{name}_kept[{upper}_KEPT_BYTES];\n"
            );
        }
        text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
        text
    }

    /// `device.h`: what an application calls.
    fn header(&self) -> String {
        let (app, upper) = (&self.app.name, self.app.name.to_uppercase());
        let mut text = format!(
            "/* {app}: its models.\n * {TOP}\n */\n#ifndef {upper}_DEVICE_H\n#define {upper}_DEVICE_H\n\n#include \"memories.h\"\n"
        );
        for model in self.app.models.iter().filter(|model| model.form == Form::Code) {
            let _ = writeln!(text, "#include \"{}/model.h\"", model.name);
        }
        let _ = write!(
            text,
            "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
             /* Fill the inputs of a model, call it, and read its outputs, before any model of another moment is filled or called:\n \
             * they share memory. Unless NDEBUG is defined, a call that comes while such a model runs stops the program.\n */\n"
        );
        for (model, said) in self.app.models.iter().enumerate() {
            let beside = self.beside(model);
            let beside = match beside[..] {
                [] => "no other model".to_owned(),
                _ => self.names(&beside),
            };
            let calls = if said.form == Form::Code { "Runs" } else { "Go around each run of" };
            let _ = write!(text, "\n/* {calls} {}. At the same time may run: {beside}.", said.name);
            for feed in &said.feeds {
                let from = &self.app.models[feed.from].name;
                let _ = write!(
                    text,
                    "\n * Its input {} is output {} of {from}, which must have run before; do not fill it.",
                    feed.input, feed.output
                );
            }
            text.push_str(" */\n");
            let verbs: &[&str] = if said.form == Form::Code { &["run"] } else { &["begin", "end"] };
            for verb in verbs {
                let _ = writeln!(text, "void {app}_{verb}_{}(void);", said.name);
            }
        }
        text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
        text
    }

    /// `device.c`: the memory, and the calls.
    fn source(&self) -> String {
        let app = &self.app;
        let name = &app.name;
        let mut text = format!(
            "/* {name}: its memory, and how its models are run.\n * {TOP}\n */\n#include \"device.h\"\n\n#include <assert.h>\n#include <string.h>\n"
        );
        for memory in &app.memories {
            let array = format!("{}_{}", name.to_uppercase(), memory.name.to_uppercase());
            let _ = write!(text, "\n{ALIGNED}uint8_t {name}_{}[{array}_BYTES] {array}_IN;\n", memory.name);
        }
        for Allocator { name: first, .. } in self.allocators() {
            let upper = first.to_uppercase();
            let _ = write!(
                text,
                "\n{ALIGNED}uint8_t {name}_{first}_kept[{upper}_KEPT_BYTES] {upper}_STATE_IN;\n"
            );
        }
        let count = app.models.len();
        let _ = write!(
            text,
            "\n#ifndef NDEBUG\n/* Who runs now, and whose outputs are still there for those that they feed. */\n\
             static volatile uint8_t runs[{count}], has_run[{count}];\n\
             #define BEGIN(model) (void)(runs[model] = 1)\n#define END(model) (void)(runs[model] = 0, has_run[model] = 1)\n#define GONE(model) (void)(has_run[model] = 0)\n\
             #else\n#define BEGIN(model) (void)0\n#define END(model) (void)0\n#define GONE(model) (void)0\n#endif\n"
        );
        for model in 0..count {
            self.call(model, &mut text);
        }
        text
    }

    /// The function that runs a model.
    fn call(&self, model: usize, text: &mut String) {
        let (app, said) = (&self.app, &self.app.models[model]);
        let is_code = said.form == Form::Code;
        let verb = if is_code { "run" } else { "begin" };
        let _ = writeln!(text, "\nvoid {}_{verb}_{}(void)\n{{", app.name, said.name);
        let beside = self.beside(model);
        for other in (0..app.models.len()).filter(|other| !beside.contains(other)) {
            let why = if other == model {
                "it runs already".to_owned()
            } else {
                format!("{} and {} share memory", said.name, app.models[other].name)
            };
            let _ = writeln!(text, "    assert(!runs[{other}] && \"{why}\");");
        }
        for feed in &said.feeds {
            let from = &app.models[feed.from].name;
            let _ = writeln!(text, "    assert(has_run[{}] && \"{from} feeds {}\");", feed.from, said.name);
        }
        let _ = writeln!(text, "    BEGIN({model});");
        for feed in &said.feeds {
            let input = format!("{}_input_{}", said.name, feed.input);
            if self.is_in_place(model, feed) {
                let _ = writeln!(text, "    /* Its input {} is where it was computed. */", feed.input);
                continue;
            }
            let output = self.kept_output(feed);
            let bytes = format!("{}_INPUT_{}_BYTES", said.name.to_uppercase(), feed.input);
            let _ = writeln!(text, "    memmove({input}, {output}, {bytes});");
        }
        for other in self.overwritten(model) {
            let _ = writeln!(text, "    GONE({other});");
        }
        let _ = if is_code {
            writeln!(text, "    {}_invoke();", said.name)
        } else {
            writeln!(text, "}}\n\nvoid {}_end_{}(void)\n{{", app.name, said.name)
        };
        for Handed { output, memory, offset, .. } in self.plan.handed.iter().filter(|kept| kept.from == model)
        {
            let (name, upper) = (&said.name, said.name.to_uppercase());
            let place = format!("{}_{} + {offset}", app.name, app.memories[*memory].name);
            let _ = writeln!(
                text,
                "    memmove({place}, {name}_output_{output}, {upper}_OUTPUT_{output}_BYTES);"
            );
        }
        let _ = writeln!(text, "    END({model});\n}}");
    }

    /// Models that feed others, and of whose outputs a run of this model leaves nothing.
    fn overwritten(&self, model: usize) -> Vec<usize> {
        let app = &self.app;
        let shares = |place: usize, begin: u64, bytes: u64| {
            self.plan.parts[model].iter().any(|part| {
                part.memory == place && part.offset < begin + bytes && begin < part.offset + part.bytes
            })
        };
        let is_lost = |from: usize| {
            let kept = || self.plan.handed.iter().filter(|kept| kept.from == from);
            let in_arena = app.outputs_taken(from).len() > kept().count();
            let parts = &self.plan.parts[from];
            kept().any(|kept| shares(kept.memory, kept.offset, kept.bytes))
                || in_arena && parts.iter().any(|part| shares(part.memory, part.offset, part.bytes))
        };
        let feeds = |&from: &usize| from != model && !app.outputs_taken(from).is_empty();
        (0..app.models.len()).filter(feeds).filter(|&from| is_lost(from)).collect()
    }

    /// Where a model finds what feeds it.
    fn kept_output(&self, feed: &Feed) -> String {
        let is_it = |kept: &&Handed| (kept.from, kept.output) == (feed.from, feed.output);
        match self.plan.handed.iter().find(is_it) {
            Some(kept) => {
                format!("{}_{} + {}", self.app.name, self.app.memories[kept.memory].name, kept.offset)
            }
            None => format!("{}_output_{}", self.app.models[feed.from].name, feed.output),
        }
    }

    /// The models that may run while this one does.
    fn beside(&self, model: usize) -> Vec<usize> {
        let set = self.app.together.iter().find(|set| set.contains(&model));
        set.into_iter().flatten().copied().filter(|&other| other != model).collect()
    }

    pub(crate) fn names(&self, models: &[usize]) -> String {
        let App { models: all, .. } = &self.app;
        models.iter().map(|&model| all[model].name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// What says in which section something lies.
fn section(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" __attribute__((section(\"{name}\")))"))
}
