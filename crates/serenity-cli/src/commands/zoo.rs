//! `serenity zoo`: the built-in networks.

use super::count;
use crate::args::{ZooArgs, ZooCommand};
use crate::outputs::OutputFile;
use crate::{Failure, Outcome, json};
use serde_json::{Map, Value, json};
use serenity::Format;
use serenity::ir::Graph;
use serenity::zoo::{Network, Precision, build, macs, networks, weights};
use std::io::Write;

pub(crate) fn run(args: &ZooArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    match &args.command {
        ZooCommand::List { talk } if talk.json => {
            let all: Vec<Value> = networks().iter().map(to_json).collect();
            writeln!(out, "{}", json::object("zoo-list", None, json!({ "networks": all })))?;
        }
        ZooCommand::List { .. } => list(out)?,
        ZooCommand::Export { name, output, int8, talk } => {
            let spec = name.strip_prefix("zoo:").unwrap_or(name);
            let summary = match Format::of_path(output).filter(|format| format.has_weights()) {
                Some(format) => export_model(spec, output, format, *int8)?,
                None => export_graph(spec, output, *int8)?,
            };
            if talk.json {
                let object = json::object("zoo-export", Some(name), Value::Object(summary.fields));
                writeln!(out, "{object}")?;
            } else {
                writeln!(out, "{}", summary.sentence)?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// What was written, for programs and for people.
struct Summary {
    fields: Map<String, Value>,
    sentence: String,
}

impl Summary {
    fn new(graph: &Graph, output: &str) -> Self {
        let (ops, tensors) = (graph.ops().len(), graph.tensors().len());
        let fields = [
            ("graph", json!(graph.name())),
            ("ops", json!(ops)),
            ("tensors", json!(tensors)),
            ("output", json!(output)),
        ];
        Self {
            fields: fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            sentence: format!("{}: {} written to `{output}`", graph.name(), count(ops as u64, "op")),
        }
    }
}

/// A model with weights.
fn export_model(spec: &str, output: &str, format: Format, int8: bool) -> Result<Summary, Failure> {
    serenity::write::check_target(output)?;
    if int8 && format == Format::Onnx {
        let message = format!("`{output}`: 8-bit models are not offered as .onnx");
        return Err(Failure::request(message, "end the name in .tflite, or leave out --int8"));
    }
    let precision = if int8 { Precision::Int8 } else { Precision::Float32 };
    let export = serenity::export(spec, format, precision)?;
    serenity::write::write_atomically(output, &export.bytes)?;
    let mut summary = Summary::new(export.model.graph(), output);
    summary.fields.insert("bytes".to_owned(), json!(export.bytes.len()));
    Ok(summary)
}

/// The graph alone.
fn export_graph(spec: &str, output: &str, int8: bool) -> Result<Summary, Failure> {
    let file = OutputFile::new(output)?;
    if int8 {
        let message = format!("`{output}` is for a graph, which has no numbers to quantise");
        return Err(Failure::request(message, "end the name in .tflite, or leave out --int8"));
    }
    let input = serenity::load(&format!("zoo:{spec}"))?;
    file.write(file.content.graph_text(input.graph()).unwrap_or_default().as_bytes())?;
    Ok(Summary::new(input.graph(), output))
}

fn to_json(network: &Network) -> Value {
    let options: Vec<Value> = network
        .options
        .iter()
        .map(|o| {
            let other =
                o.default_with.map(|d| json!({"option": d.option, "value": d.value, "default": d.default}));
            json!({
                "name": o.name,
                "default": o.default,
                "default_with": other,
                "values": o.values.to_string(),
                "meaning": o.meaning,
            })
        })
        .collect();
    json!({
        "name": network.name,
        "summary": network.summary,
        "reference": network.reference,
        "reconstruction": network.reconstruction,
        "options": options,
    })
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
