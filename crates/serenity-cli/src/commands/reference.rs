//! `serenity completions` and `serenity man`, from the same definitions as the command line itself; `serenity schema`,
//! from the types of what is printed.

use crate::args::{CompletionsArgs, ManArgs, SchemaArgs};
use crate::failure::refuse;
use crate::{Failure, Outcome, json};
use serde_json::Value;
use std::io::Write;
use std::path::Path;

pub(crate) fn completions(args: &CompletionsArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    // Into memory first: the generator panics if its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::command(), "serenity", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Done)
}

pub(crate) fn schema(args: &SchemaArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let mut schema = json::schema();
    let Some(name) = &args.name else {
        writeln!(out, "{schema:#}")?;
        return Ok(Outcome::Done);
    };
    let names: Vec<&str> = outputs(&schema).collect();
    if !names.contains(&name.as_str()) {
        return refuse(format!("there is no output `{name}`"), format!("give one of: {}", names.join(", ")));
    }
    schema["anyOf"] = serde_json::json!([{ "$ref": format!("#/$defs/{name}") }]);
    writeln!(out, "{schema:#}")?;
    Ok(Outcome::Done)
}

/// The names of all that is described, not of their parts.
fn outputs(schema: &Value) -> impl Iterator<Item = &str> {
    let all = schema["anyOf"].as_array().into_iter().flatten();
    all.filter_map(|one| one["$ref"].as_str()?.strip_prefix("#/$defs/"))
}

pub(crate) fn man(args: &ManArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    std::fs::create_dir_all(&args.out).map_err(|error| {
        Failure::of(
            serenity::ErrorKind::Write,
            format!("cannot create the folder `{}`: {error}", args.out),
            "name another with --out",
        )
    })?;
    let mut root = crate::args::command();
    root.build();
    write_pages(&root, &args.out, out)?;
    Ok(Outcome::Done)
}

/// The page of a command, and those of its subcommands.
fn write_pages(command: &clap::Command, folder: &str, out: &mut impl Write) -> Result<(), Failure> {
    write_page(command, folder, out)?;
    for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
        write_pages(command, folder, out)?;
    }
    Ok(())
}

fn write_page(command: &clap::Command, folder: &str, out: &mut impl Write) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let path = Path::new(folder).join(format!("{name}.1"));
    let path = path.to_string_lossy();
    serenity::write::write_atomically(&path, &page)?;
    writeln!(out, "{path}")?;
    Ok(())
}
