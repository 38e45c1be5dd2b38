//! `serenity zoo`: the built-in networks.

use super::count;
use crate::args::{ZooArgs, ZooCommand};
use crate::outputs::{OutputFile, graph_text};
use crate::{Failure, Outcome};
use serde_json::{Value, json};
use serenity::zoo::{Network, build, macs, networks, weights};
use std::io::Write;

pub(crate) fn run(args: &ZooArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    match &args.command {
        ZooCommand::List { json } if json.json => {
            let all: Vec<Value> = networks().iter().map(to_json).collect();
            writeln!(out, "{}", json!({ "networks": all }))?;
        }
        ZooCommand::List { .. } => list(out)?,
        ZooCommand::Export { name, output, json } => {
            let file = OutputFile::new(output)?;
            let spec = name.strip_prefix("zoo:").unwrap_or(name);
            let input = serenity::load(&format!("zoo:{spec}"))?;
            let graph = input.graph();
            file.write(graph_text(file.format, graph).unwrap_or_default().as_bytes())?;
            let (ops, tensors) = (graph.ops().len(), graph.tensors().len());
            if json.json {
                let object = json!({"graph": graph.name(), "ops": ops, "tensors": tensors, "output": output});
                writeln!(out, "{object}")?;
            } else {
                writeln!(out, "{}: {} written to `{output}`", graph.name(), count(ops as u64, "op"))?;
            }
        }
    }
    Ok(Outcome::Done)
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
