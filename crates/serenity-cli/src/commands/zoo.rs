//! `serenity zoo`: the built-in networks.

use super::count;
use crate::args::{ZooArgs, ZooCommand};
use crate::failure::refuse;
use crate::outputs::OutputFile;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::Format;
use serenity::ir::Graph;
use serenity::zoo::{Network, Precision, build, macs, networks, weights};
use std::io::Write;

pub(crate) fn run(args: &ZooArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    match &args.command {
        ZooCommand::List { talk } if talk.json => {
            writeln!(out, "{}", json::object("zoo-list", None, Listed { networks: networks() }))?;
        }
        ZooCommand::List { .. } => list(out)?,
        ZooCommand::Export { name, output, int8, talk } => {
            let spec = name.strip_prefix("zoo:").unwrap_or(name);
            let exported = match Format::of_path(output).filter(|format| format.has_weights()) {
                Some(format) => export_model(spec, output, format, *int8)?,
                None => export_graph(spec, output, *int8)?,
            };
            if talk.json {
                writeln!(out, "{}", json::object("zoo-export", Some(name), exported))?;
            } else {
                let Exported { graph, ops, output, .. } = exported;
                writeln!(out, "{graph}: {} written to `{output}`", count(ops as u64, "op"))?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// `serenity zoo list`: the built-in networks.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// All networks.
    networks: &'static [Network],
}

/// `serenity zoo export`: the file that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Exported<'a> {
    /// The name of the graph; may be empty.
    graph: String,
    /// The number of ops.
    #[schemars(range(min = 1))]
    ops: usize,
    /// The number of tensors.
    tensors: usize,
    /// The file.
    output: &'a str,
    /// For a model: the size of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    bytes: Option<usize>,
}

impl<'a> Exported<'a> {
    fn new(graph: &Graph, output: &'a str, bytes: Option<usize>) -> Self {
        let (ops, tensors) = (graph.ops().len(), graph.tensors().len());
        Self { graph: graph.name().to_owned(), ops, tensors, output, bytes }
    }
}

/// A model with weights.
fn export_model<'a>(
    spec: &str,
    output: &'a str,
    format: Format,
    int8: bool,
) -> Result<Exported<'a>, Failure> {
    serenity::write::check_target(output)?;
    if int8 && format == Format::Onnx {
        let message = format!("`{output}`: 8-bit models are not offered as .onnx");
        return refuse(message, "end the name in .tflite, or leave out --int8");
    }
    let precision = if int8 { Precision::Int8 } else { Precision::Float32 };
    let export = serenity::export(spec, format, precision)?;
    serenity::write::write_atomically(output, &export.bytes)?;
    Ok(Exported::new(export.model.graph(), output, Some(export.bytes.len())))
}

/// The graph alone.
fn export_graph<'a>(spec: &str, output: &'a str, int8: bool) -> Result<Exported<'a>, Failure> {
    let file = OutputFile::new(output)?;
    if int8 {
        let message = format!("`{output}` is for a graph, which has no numbers to quantise");
        return refuse(message, "end the name in .tflite, or leave out --int8");
    }
    let input = serenity::load(&format!("zoo:{spec}"))?;
    file.write(file.content.graph_text(input.graph()).unwrap_or_default().as_bytes())?;
    Ok(Exported::new(input.graph(), output, None))
}

fn list(out: &mut impl Write) -> Result<(), Failure> {
    writeln!(
        out,
        "Built-in networks. Use one anywhere as zoo:NAME, or zoo:NAME?OPTION=VALUE&OPTION=VALUE.\n"
    )?;
    for network in networks() {
        let size = build(network.name).map_or_else(
            |_| String::new(),
            |graph| {
                format!(
                    "{} ops, {} MACs, {} weights",
                    graph.ops().len(),
                    in_millions(macs(&graph)),
                    in_millions(weights(&graph))
                )
            },
        );
        let mark = if network.reconstruction { " (a reconstruction)" } else { "" };
        writeln!(out, "{}{mark}\n    {}\n    {size}; {}", network.name, network.summary, network.reference)?;
        for option in network.options {
            let other = option.default_with.map_or_else(String::new, |other| {
                format!(" ({} with {}={})", other.default, other.option, other.value)
            });
            let (name, default) = (option.name, option.default);
            writeln!(out, "      {name}={default}{other}  {}; {}", option.meaning, option.values)?;
        }
    }
    Ok(())
}

fn in_millions(number: u64) -> String {
    match number {
        0..100_000 => number.to_string(),
        _ => format!("{:.2} M", number as f64 / 1e6),
    }
}
