//! The command line as it is shown: flags of the main job in groups, and those that a better one replaces hidden. All of
//! them go on working.

use super::Cli;
use clap::{Command, CommandFactory};

/// The flags of `optimize` by what they are about; `report` and `emit c` have some of them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Files", &["outputs", "output", "output_dir", "plan", "svg"]),
    ("Changes to the model", &["rewrite", "loops", "hop", "int8_io", "no_reorder", "no_plan"]),
    (
        "Target",
        &["runtime", "kernels", "ort_session", "ort_order", "budget", "memory", "shapes", "fold_constants"],
    ),
    ("Search", &["time_limit", "effort", "memory_limit"]),
    ("What is printed", &["explain", "verbose", "json", "quiet"]),
];

/// How an order is searched for is a question to `schedule`.
const OF_SCHEDULE: [&str; 5] = ["algorithm", "step_limit", "soft_budget", "threads", "without"];

/// The command line with its help.
pub(crate) fn command() -> Command {
    Cli::command().mut_subcommands(|command| match command.get_name() {
        "optimize" | "report" => grouped(command),
        "emit" => command.mut_subcommands(grouped),
        _ => command,
    })
}

fn grouped(command: Command) -> Command {
    command.mut_args(|arg| {
        let name = arg.get_id().as_str();
        let is_hidden = arg.is_hide_set() || OF_SCHEDULE.contains(&name);
        let group = GROUPS.iter().find(|(_, flags)| flags.contains(&name)).map(|(group, _)| *group);
        match group {
            Some(group) => arg.help_heading(group),
            None => arg.hide(is_hidden),
        }
    })
}
