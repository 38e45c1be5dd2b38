//! How a search stands, in words.

use serenity::search::Progress;
use serenity_report::grouped;
use serenity_report::size::Size;

/// One line for the status of the page.
pub fn in_words(progress: &Progress) -> String {
    let Progress { best, bound, states, of, stage, .. } = *progress;
    let stage = if stage.is_empty() { String::new() } else { format!("{stage}: ") };
    let tried = if states == 0 { of.to_owned() } else { format!("{} {of}", grouped(states.into())) };
    if states == 0 || best == u64::MAX {
        return format!("{stage}{tried}");
    }
    format!("{stage}best {}, at least {}, {tried}", Size(best), Size(bound.min(best)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_what_is_known_is_said() {
        let progress = Progress {
            best: 300_000,
            bound: 200_000,
            states: 1500,
            of: "states",
            stage: "loops",
            elapsed: Duration::ZERO,
        };
        assert_eq!(in_words(&progress), "loops: best 300.0 KB, at least 200.0 KB, 1,500 states");
        let progress = Progress { best: u64::MAX, states: 3, of: "ways tried", stage: "", ..progress };
        assert_eq!(in_words(&progress), "3 ways tried");
        assert_eq!(in_words(&Progress { states: 0, of: "loops", ..progress }), "loops");
    }
}
