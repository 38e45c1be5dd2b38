//! What the form of the page says, and the command that says the same.

use crate::Complaint;
use serde::Deserialize;
use serenity::formats::GivenShape;
use serenity::pipeline::target::{OrtSession, Target};
use serenity::{Format, ReadOptions};
use serenity_report::printable::{for_shell, printable};
use serenity_report::size::GivenSize;
use std::fmt::Display;
use std::str::FromStr;

/// The fields of the form, each as it was typed; empty where nothing was said.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wishes {
    /// A memory model.
    pub runtime: String,
    /// The kernels that TFLM is built with.
    pub kernels: String,
    /// Which operators may be replaced.
    pub rewrite: String,
    /// The extra multiplications that loops may take, in percent.
    pub loops: String,
    /// Do inputs and outputs become integers?
    pub int8_io: bool,
    /// The memory of the device.
    pub budget: String,
    /// Shapes that the model leaves open, divided by blanks.
    pub shapes: String,
    /// The new rows of a window over time.
    pub hop: String,
}

/// What is asked of one model.
pub(crate) struct Asked {
    /// What was said of the device and of changes.
    pub(crate) target: Target,
    pub(crate) budget: Option<GivenSize>,
    /// The new rows of a window over time.
    pub(crate) hop: Option<u64>,
    shapes: Vec<GivenShape>,
    /// The model and what was said of its runtime, as one would type it.
    pub(crate) typed: String,
    /// What was said of changes to the model.
    changes: String,
}

impl Wishes {
    /// Reads the form, for a model of this name.
    pub(crate) fn for_model(&self, name: &str, format: Format) -> Result<Asked, Complaint> {
        let budget: Option<GivenSize> = said("the budget", &self.budget)?;
        let shapes = self.shapes.split_whitespace().map(|text| parsed("the shapes", text));
        let shapes = shapes.collect::<Result<Vec<GivenShape>, _>>()?;
        if let (Some(shape), false) = (shapes.first(), format == Format::Onnx) {
            return Err(Complaint::new(
                format!("the shapes: `{shape}`: only .onnx models leave shapes open, and `{name}` is none"),
                "leave the field empty",
            ));
        }
        let percent: Option<f64> = said("the extra MACs of loops", &self.loops)?;
        if percent.is_some_and(|percent| !(0.0..=10_000.0).contains(&percent)) {
            let message = format!("the extra MACs of loops: `{}`", self.loops);
            return Err(Complaint::new(message, "give a percentage from 0 to 10000"));
        }
        let hop: Option<u64> = said("the new rows of a window", &self.hop)?;
        if hop == Some(0) {
            return Err(Complaint::new("the new rows of a window: `0`", "give 1 row or more"));
        }
        if hop.is_some() && budget.is_none() {
            let message = "the new rows of a window: they are for the table of all ways to fit a budget";
            return Err(Complaint::new(message, "give a budget or a board, or leave the field empty"));
        }
        let target = Target {
            runtime: said("the runtime", &self.runtime)?,
            kernels: said("the kernels", &self.kernels)?,
            // A page cannot ask the ONNX Runtime of its user to fuse operators first.
            ort_session: (format == Format::Onnx).then_some(OrtSession::Plain),
            budget: budget.map(|budget| budget.bytes),
            rewrites: said("the rewrites", &self.rewrite)?,
            loops: percent.map(|percent| percent / 100.0),
            int8_io: self.int8_io,
            ..Target::default()
        };
        let (typed, changes) = (typed(name, &target, &shapes), self.changes());
        Ok(Asked { target, budget, hop, shapes, typed, changes })
    }

    fn changes(&self) -> String {
        let option = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!(" --{name}{value}"),
        };
        let with = |sign: &str, value: &str, unit: &str| match value {
            "" => String::new(),
            value => format!("{sign}{}{unit}", value.trim()),
        };
        let int8_io = if self.int8_io { " --int8-io" } else { "" };
        let (rewrite, loops) = (with(" ", &self.rewrite, ""), with("=", &self.loops, "%"));
        format!("{}{}{int8_io}", option("rewrite", &rewrite), option("loops", &loops))
    }
}

impl Asked {
    /// How to read the model.
    pub(crate) fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.model = self.target.runtime;
        options.with_shapes(&self.shapes)
    }

    /// The budget as an argument; empty without one.
    pub(crate) fn budget_typed(&self) -> String {
        self.budget.map_or_else(String::new, GivenSize::as_argument)
    }

    /// The command that does the same and ends in `output`.
    pub(crate) fn command(&self, verb: &str, output: &str) -> String {
        let budget = self.budget.map_or_else(String::new, |size| format!(" --budget {}", size.as_argument()));
        format!("serenity {verb} {}{}{budget} {output}", self.typed, self.changes)
    }
}

/// The model and its runtime as one would type them.
fn typed(name: &str, target: &Target, shapes: &[GivenShape]) -> String {
    let runtime = target.runtime.map_or_else(String::new, |model| format!(" --runtime {model}"));
    let kernels = target.kernels.map_or_else(String::new, |kernels| format!(" --kernels {kernels}"));
    let session = target.ort_session.map_or_else(String::new, |session| format!(" --ort-session {session}"));
    let shapes: Vec<String> =
        shapes.iter().map(|shape| format!(" --shape {}", printable(&shape.to_string()))).collect();
    format!("{}{runtime}{kernels}{session}{}", for_shell(name), shapes.concat())
}

/// A field of the form; `None` if it is empty.
fn said<T: FromStr<Err: Display>>(field: &str, text: &str) -> Result<Option<T>, Complaint> {
    let text = text.trim();
    (!text.is_empty()).then(|| parsed(field, text)).transpose()
}

fn parsed<T: FromStr<Err: Display>>(field: &str, text: &str) -> Result<T, Complaint> {
    let complaint = |error: T::Err| Complaint::new(format!("{field}: `{text}`"), error.to_string());
    text.parse().map_err(complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(wishes: &Wishes, name: &str) -> Result<Asked, Complaint> {
        wishes.for_model(name, Format::of_path(name).unwrap())
    }

    #[test]
    fn the_command_says_what_the_form_says() {
        let wishes = Wishes {
            kernels: "cmsis-nn".to_owned(),
            rewrite: "exact".to_owned(),
            loops: "10".to_owned(),
            int8_io: true,
            budget: "64 KiB".to_owned(),
            ..Wishes::default()
        };
        let found = asked(&wishes, "my net.tflite").unwrap();
        assert_eq!((found.target.loops, found.target.budget), (Some(0.1), Some(65_536)));
        assert_eq!(
            found.command("optimize", "-o smaller.tflite"),
            "serenity optimize 'my net.tflite' --kernels cmsis-nn --rewrite exact --loops=10% --int8-io --budget 64KiB -o smaller.tflite"
        );
        let plain = asked(&Wishes::default(), "net.onnx").unwrap();
        assert_eq!(
            plain.command("optimize", "-o x.onnx"),
            "serenity optimize net.onnx --ort-session plain -o x.onnx"
        );
    }

    #[test]
    fn a_field_that_makes_no_sense_is_named() {
        for (wishes, field) in [
            (Wishes { budget: "64K".to_owned(), ..Wishes::default() }, "the budget: `64K`"),
            (Wishes { kernels: "fast".to_owned(), ..Wishes::default() }, "the kernels: `fast`"),
            (Wishes { loops: "-1".to_owned(), ..Wishes::default() }, "the extra MACs of loops: `-1`"),
            (Wishes { loops: "nan".to_owned(), ..Wishes::default() }, "the extra MACs of loops: `nan`"),
            (Wishes { hop: "two".to_owned(), ..Wishes::default() }, "the new rows of a window: `two`"),
            (Wishes { hop: "0".to_owned(), ..Wishes::default() }, "the new rows of a window: `0`"),
            (Wishes { hop: "1".to_owned(), ..Wishes::default() }, "the new rows of a window: they"),
            (Wishes { shapes: "x=1,2".to_owned(), ..Wishes::default() }, "the shapes: `x=1,2`"),
        ] {
            let complaint = asked(&wishes, "net.tflite").err().expect(field);
            assert!(complaint.message.starts_with(field) && complaint.help.is_some(), "{complaint:?}");
        }
        let shapes = Wishes { shapes: "x=1,2 y".to_owned(), ..Wishes::default() };
        assert_eq!(asked(&shapes, "net.onnx").err().unwrap().message, "the shapes: `y`");
    }
}
