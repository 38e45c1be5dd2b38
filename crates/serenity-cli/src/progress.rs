//! One line on standard error while a search runs, if somebody is looking.

use crate::size::Size;
use serenity::search::{CancelFlag, Progress, ProgressFn};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Nothing is shown before this: most searches are over by then.
const PATIENCE: Duration = Duration::from_secs(1);

/// A progress line that is wiped when it is dropped.
pub(crate) struct ProgressLine {
    shown: Arc<AtomicBool>,
}

impl ProgressLine {
    /// The line of a search for the best order, and the callback that writes it; no callback if standard error is not a terminal.
    pub(crate) fn new(label: &str) -> (Self, Option<ProgressFn>) {
        let label = label.to_owned();
        Self::showing(move |progress| describe(&label, progress))
    }

    /// The same where states are `what`, such as orders drawn, and nothing else is known.
    pub(crate) fn counting(label: &str, what: &'static str) -> (Self, Option<ProgressFn>) {
        let label = label.to_owned();
        Self::showing(move |progress| describe_count(&label, what, progress))
    }

    fn showing(text: impl Fn(&Progress) -> String + Send + Sync + 'static) -> (Self, Option<ProgressFn>) {
        let shown = Arc::new(AtomicBool::new(false));
        let line = Self { shown: Arc::clone(&shown) };
        if !std::io::stderr().is_terminal() {
            return (line, None);
        }
        let callback: ProgressFn = Arc::new(move |progress: &Progress| {
            if progress.elapsed >= PATIENCE {
                shown.store(true, Ordering::Relaxed);
                // A terminal that cannot be written to is no reason to stop the search.
                let _ = write!(std::io::stderr(), "\r\x1b[2K{}", cut(&text(progress), terminal_width()));
            }
        });
        (line, Some(callback))
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown.load(Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// A line that says which step of a long work runs, if somebody is looking; wiped when it is dropped.
pub(crate) struct StepLine {
    is_seen: bool,
}

impl StepLine {
    pub(crate) fn new() -> Self {
        Self { is_seen: std::io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, text: &str) {
        if self.is_seen {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{}", cut(text, terminal_width()));
        }
    }
}

impl Drop for StepLine {
    fn drop(&mut self) {
        self.show("");
    }
}

/// A line that wraps cannot be wiped: leaves the last column free.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width.saturating_sub(1)).collect()
}

fn terminal_width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(80, |(width, _)| usize::from(width.0))
}

fn describe(label: &str, progress: &Progress) -> String {
    let Progress { best, bound, states, of, elapsed } = *progress;
    let gap = if bound == 0 { 0.0 } else { best.saturating_sub(bound) as f64 / bound as f64 * 100.0 };
    format!(
        "{label}: best {}  bound {}  gap {gap:.1} %  {} {of}  {:.0} s  (Ctrl-C keeps the best)",
        Size(best),
        Size(bound),
        thousands(states),
        elapsed.as_secs_f64()
    )
}

fn describe_count(label: &str, what: &str, progress: &Progress) -> String {
    format!("{label}: {} {what}  {:.0} s", thousands(progress.states), progress.elapsed.as_secs_f64())
}

/// 1234567 as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A flag that the first Ctrl-C raises, so that the search returns its best; the second ends the program.
pub(crate) fn cancel_on_ctrl_c() -> CancelFlag {
    let flag = CancelFlag::default();
    let raised = flag.clone();
    // Without a handler Ctrl-C ends the program at once, which is no worse than refusing to run.
    let _ = ctrlc::set_handler(move || {
        if raised.is_cancelled() {
            std::process::exit(130);
        }
        raised.cancel();
    });
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_wraps() {
        assert_eq!(cut("█ best", 4), "█ b");
        assert_eq!(cut("short", 80), "short");
        assert_eq!(cut("x", 0), "");
    }

    #[test]
    fn digits_come_in_threes() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1000, 12_345_678].map(thousands)[..]);
    }

    #[test]
    fn the_line_says_what_the_search_knows() {
        let progress = Progress {
            best: 300_000,
            bound: 200_000,
            states: 1500,
            of: "states",
            elapsed: Duration::from_secs(3),
        };
        assert_eq!(
            describe("net", &progress),
            "net: best 300.0 KB  bound 200.0 KB  gap 50.0 %  1,500 states  3 s  (Ctrl-C keeps the best)"
        );
        assert_eq!(describe_count("net", "orders drawn", &progress), "net: 1,500 orders drawn  3 s");
    }
}
