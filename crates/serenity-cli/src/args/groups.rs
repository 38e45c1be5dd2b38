//! The command line as it is shown: flags of the main job in groups, and those that a better one replaces hidden. All of
//! them go on working.

use super::Cli;
use clap::{Command, CommandFactory};

/// The flags of `optimize` by what they are about; `report`, `fit` and `emit c` have some of them and a few of their own.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Files", &["outputs", "output", "output_dir", "plan", "svg", "name", "layout"]),
    (
        "Changes to the model",
        &["allow", "forbid", "rewrite", "loops", "stream", "hop", "int8_io", "no_reorder", "no_plan"],
    ),
    (
        "Target",
        &["runtime", "kernels", "ort_session", "ort_order", "budget", "memory", "shapes", "fold_constants"],
    ),
    ("Search", &["time_limit", "effort", "memory_limit"]),
    ("What is printed", &["explain", "verbose", "json", "quiet"]),
];

/// How an order is searched for is a question to `schedule`.
const OF_SCHEDULE: [&str; 5] = ["algorithm", "step_limit", "soft_budget", "threads", "without"];

/// C is made of a .tflite file, whose shapes are known.
const OF_ONNX: [&str; 3] = ["ort_order", "ort_session", "shapes"];

/// The command line with its help.
pub(crate) fn command() -> Command {
    Cli::command().mut_subcommands(|command| match command.get_name() {
        "optimize" | "report" | "fit" => grouped(command),
        "emit" => command.mut_subcommands(|code| hidden(grouped(code), &OF_ONNX)),
        _ => command,
    })
}

fn grouped(command: Command) -> Command {
    let grouped = command.mut_args(|arg| {
        let name = arg.get_id().as_str();
        match GROUPS.iter().find(|(_, flags)| flags.contains(&name)) {
            Some((group, _)) => arg.help_heading(*group),
            None => arg,
        }
    });
    hidden(grouped, &OF_SCHEDULE)
}

fn hidden(command: Command, flags: &[&str]) -> Command {
    command.mut_args(|arg| {
        let is_hidden = arg.is_hide_set() || flags.contains(&arg.get_id().as_str());
        arg.hide(is_hidden)
    })
}
