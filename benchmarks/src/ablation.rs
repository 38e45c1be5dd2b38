//! What each rule of the exact engine is worth: the same graphs with all rules, with one rule off, with none.

use crate::table::Table;
use crate::{Network, measure, networks};
use serenity::schedule::{Options, Rules};
use std::error::Error;
use std::time::Duration;

/// The rule that stays on when all others are off: it proves nothing, it only finds good orders, so what remains is a
/// bare best-first search.
const KEPT: &str = "beam";

/// What one choice of rules did on one set.
#[derive(Default)]
struct Score {
    proved: usize,
    states: u64,
    time: Duration,
}

/// Measures all choices of rules on all sets, then prints the table.
pub(crate) fn run(cap: Duration) -> Result<(), Box<dyn Error>> {
    let sets: Vec<Vec<Network>> = networks::ABLATION
        .iter()
        .map(|(_, specs)| specs.iter().map(|spec| Network::load(&format!("zoo:{spec}"))).collect())
        .collect::<Result<_, _>>()?;
    let mut table = Table::new([
        "rules", "A proved", "states", "CPU s", "B proved", "states", "CPU s", "C proved", "states", "CPU s",
    ]);
    for (name, rules) in choices() {
        eprintln!("{name}");
        let options = Options { rules, ..Options::default() };
        let mut row = vec![name];
        for (networks, (set, _)) in sets.iter().zip(networks::ABLATION) {
            let score = score(networks, &options, cap);
            eprintln!("    {set}: {} of {}, {:.1} s", score.proved, networks.len(), score.time.as_secs_f64());
            row.push(format!("{}/{}", score.proved, networks.len()));
            row.push(score.states.to_string());
            row.push(format!("{:.2}", score.time.as_secs_f64()));
        }
        table.push::<10>(row.try_into().map_err(|_| "a row has ten cells")?);
    }
    println!("Rules of the exact engine, CPU time at most {} an instance", measure::in_words(cap));
    for (set, specs) in networks::ABLATION {
        println!("{set}: {} graphs", specs.len());
    }
    println!();
    table.print();
    println!(
        "\nStates and CPU time are sums over the set; a search that was stopped counts with what it had spent."
    );
    Ok(())
}

/// All rules, each rule off, and all off but one.
fn choices() -> Vec<(String, Rules)> {
    let without = |names: &[&str]| {
        let mut rules = Rules::default();
        for name in names {
            rules.turn_off(name);
        }
        rules
    };
    let others: Vec<&str> = Rules::names().filter(|&name| name != KEPT).collect();
    let mut choices = vec![("all".to_owned(), Rules::default())];
    choices.extend(Rules::names().map(|name| (format!("without {name}"), without(&[name]))));
    choices.push((format!("only {KEPT}"), without(&others)));
    choices
}

fn score(networks: &[Network], options: &Options, cap: Duration) -> Score {
    let mut score = Score::default();
    for network in networks {
        let run = measure::once(&network.problem, options, cap);
        score.proved += usize::from(run.is_proved());
        score.states += run.found.stats.states;
        score.time += run.time;
    }
    score
}
