//! The command line.

use crate::networks;
use std::error::Error;
use std::time::Duration;

pub(crate) const HELP: &str = "\
Serenity's exact engine beside the paper's algorithms and beside tract

Usage: serenity-benchmarks [--cap SECONDS] [--shared] [GRAPH.json | zoo:NAME]...
       serenity-benchmarks --ablation [--cap SECONDS]
       serenity-benchmarks --scoreboard [--cap SECONDS] [MODEL.tflite | MODEL.onnx | GRAPH.json | TABLE.csv | zoo:NAME]...

  --cap SECONDS  CPU time for one search (60; with --ablation 3, with --scoreboard 5)
  --shared       all graphs of $SERENITY_SHARED/graphs, or of ../shared/graphs beside the checkout
  --ablation     what each rule of the exact engine is worth, on built-in networks
  --scoreboard   us against TFLM, LiteRT, ONNX Runtime, Vela, tract, PyTorch, ExecuTorch and the paper, as far as they are installed, as Markdown;
                 without inputs: built-in networks, and the models and tables of the collection if it is there

Without graphs: built-in networks and a few random graphs.
";

/// What to do.
pub(crate) enum Task {
    Help,
    Ablation { cap: Duration },
    Scoreboard { sources: Vec<String>, cap: Duration },
    Compare { sources: Vec<String>, cap: Duration },
}

/// What was asked for, as it was read.
#[derive(Default)]
pub(crate) struct Arguments {
    cap: Option<Duration>,
    ablation: bool,
    scoreboard: bool,
    shared: bool,
    sources: Vec<String>,
}

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Task, Box<dyn Error>> {
        let mut read = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-h" | "--help" => return Ok(Task::Help),
                "--ablation" => read.ablation = true,
                "--scoreboard" => read.scoreboard = true,
                "--shared" => read.shared = true,
                "--cap" => read.cap = Some(seconds(&words.next().unwrap_or_default())?),
                option if option.starts_with('-') => {
                    return Err(format!("unknown option `{option}`\nhelp: see --help").into());
                }
                _ => read.sources.push(word),
            }
        }
        read.into_task()
    }

    fn into_task(mut self) -> Result<Task, Box<dyn Error>> {
        if self.scoreboard {
            if self.ablation || self.shared {
                return Err("--scoreboard stands alone\nhelp: leave out --ablation and --shared".into());
            }
            let cap = self.cap.unwrap_or(Duration::from_secs(5));
            return Ok(Task::Scoreboard { sources: self.sources, cap });
        }
        if self.ablation {
            if self.shared || !self.sources.is_empty() {
                return Err("--ablation has its own graphs\nhelp: leave out --shared and the names".into());
            }
            return Ok(Task::Ablation { cap: self.cap.unwrap_or(Duration::from_secs(3)) });
        }
        if self.shared {
            self.sources.extend(networks::shared()?);
        } else if self.sources.is_empty() {
            self.sources = networks::defaults();
        }
        Ok(Task::Compare { sources: self.sources, cap: self.cap.unwrap_or(Duration::from_mins(1)) })
    }
}

fn seconds(word: &str) -> Result<Duration, String> {
    let number = word.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    number
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{word}` is no number of seconds\nhelp: --cap 20"))
}
