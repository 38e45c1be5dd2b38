//! `serenity completions` and `serenity man`: from the same definitions as the command line itself.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::{Failure, Outcome};
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

pub(crate) fn completions(args: &CompletionsArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    // Into memory first: the generator panics if its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "serenity", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Done)
}

pub(crate) fn man(args: &ManArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    std::fs::create_dir_all(&args.out).map_err(|error| {
        Failure::request(
            format!("cannot create the folder `{}`: {error}", args.out),
            "name another with --out",
        )
    })?;
    let mut root = Cli::command();
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
    serenity::write_atomically(&path, &page)?;
    writeln!(out, "{path}")?;
    Ok(())
}
