//! One line on standard error while something takes long, if somebody is looking.

use crate::screen;
use crate::size::Size;
use serenity::search::{Progress, ProgressFn};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is shown before this: most searches are over by then.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line changes: its clock shows that something goes on, also where nothing is reported for long.
const REDRAW_EVERY: Duration = Duration::from_millis(200);

/// A line that tells how a search stands, and is wiped when it is dropped.
pub(crate) struct ProgressLine {
    news: Arc<News>,
    drawing: Option<JoinHandle<()>>,
}

/// What those who search tell the one who draws.
#[derive(Default)]
struct News {
    latest: Mutex<Latest>,
    is_over: Condvar,
}

#[derive(Default)]
struct Latest {
    progress: Option<Progress>,
    is_over: bool,
}

impl Latest {
    /// Takes news. Within a stage the best never rises, also if a search begins again.
    fn hear(&mut self, news: &Progress) {
        let stage = |progress: &Progress| (progress.stage, progress.of);
        let before = self.progress.filter(|before| stage(before) == stage(news));
        let best = before.map_or(news.best, |before| before.best.min(news.best));
        self.progress = Some(Progress { best, bound: news.bound.min(best), ..*news });
    }
}

impl News {
    fn lock(&self) -> MutexGuard<'_, Latest> {
        // Whoever panicked, a progress line is no reason to do so too.
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressLine {
    /// The line of a search for the best, and the callback that tells it; no callback if nobody looks.
    pub(crate) fn new(label: &str, is_quiet: bool) -> (Self, Option<ProgressFn>) {
        let label = label.to_owned();
        Self::showing(is_quiet, move |progress, elapsed, width| describe(&label, progress, elapsed, width))
    }

    /// The line of a search whose states are `what`, such as orders drawn, and its callback; no callback if nobody
    /// looks.
    pub(crate) fn counting(label: &str, what: &'static str, is_quiet: bool) -> (Self, Option<ProgressFn>) {
        let label = label.to_owned();
        Self::showing(is_quiet, move |progress, elapsed, _| {
            let states = progress.map_or(0, |progress| progress.states);
            format!("{label}: {} {what}, {}", thousands(states), seconds(elapsed))
        })
    }

    fn showing(
        is_quiet: bool,
        text: impl Fn(Option<&Progress>, Duration, usize) -> String + Send + 'static,
    ) -> (Self, Option<ProgressFn>) {
        let news = Arc::new(News::default());
        if is_quiet || !std::io::stderr().is_terminal() {
            return (Self { news, drawing: None }, None);
        }
        let (told, drawn) = (Arc::clone(&news), Arc::clone(&news));
        let callback: ProgressFn = Arc::new(move |progress: &Progress| told.lock().hear(progress));
        let drawing = std::thread::spawn(move || draw(&drawn, text));
        (Self { news, drawing: Some(drawing) }, Some(callback))
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.news.lock().is_over = true;
        self.news.is_over.notify_all();
        if let Some(drawing) = self.drawing.take() {
            // If it panicked, it has said so.
            let _ = drawing.join();
        }
    }
}

/// Draws the line until it is over, then wipes it.
fn draw(news: &News, text: impl Fn(Option<&Progress>, Duration, usize) -> String) {
    let started = Instant::now();
    let mut wait = PATIENCE;
    let mut latest = news.lock();
    let mut is_shown = false;
    while !latest.is_over {
        (latest, _) = news
            .is_over
            .wait_timeout_while(latest, wait, |latest| !latest.is_over)
            .unwrap_or_else(PoisonError::into_inner);
        if !latest.is_over {
            show(&text(latest.progress.as_ref(), started.elapsed(), room()));
            (is_shown, wait) = (true, REDRAW_EVERY);
        }
    }
    if is_shown {
        show("");
    }
}

/// Replaces the line.
fn show(text: &str) {
    // A terminal that cannot be written to is no reason to stop the search.
    let _ = write!(std::io::stderr(), "\r\x1b[2K{}", cut(text, room()));
}

/// A line that wraps cannot be wiped: leaves the last column free.
fn room() -> usize {
    screen::error_width().unwrap_or(80).saturating_sub(1)
}

fn cut(line: &str, room: usize) -> String {
    line.chars().take(room).collect()
}

/// A line that says which step of a long work runs, if somebody is looking; wiped when it is dropped.
pub(crate) struct StepLine {
    is_seen: bool,
}

impl StepLine {
    pub(crate) fn new(is_quiet: bool) -> Self {
        Self { is_seen: !is_quiet && std::io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, text: &str) {
        if self.is_seen {
            show(text);
        }
    }
}

impl Drop for StepLine {
    fn drop(&mut self) {
        self.show("");
    }
}

/// Of what is known, as much as there is room for: what matters most goes last.
fn describe(label: &str, progress: Option<&Progress>, elapsed: Duration, room: usize) -> String {
    let time = seconds(elapsed);
    let Some(progress) = progress else { return format!("{label}: {time}") };
    let Progress { best, bound, states, of, stage, .. } = *progress;
    let label = &if stage.is_empty() { label.to_owned() } else { format!("{label}, {stage}") };
    if states == 0 || best == u64::MAX {
        let what = if states == 0 { of.to_owned() } else { format!("{} {of}", thousands(states)) };
        return format!("{label}: {what}, {time}");
    }
    let (keeps, tried) = ("Ctrl-C keeps the best", format!("{} {of}", thousands(states)));
    let gap = if bound == 0 { 0.0 } else { best.saturating_sub(bound) as f64 / bound as f64 * 100.0 };
    let (best, bound) = (Size(best), Size(bound));
    let ways = [
        format!("{label}: best {best}, bound {bound} (gap {gap:.1} %), {tried}, {time}; {keeps}"),
        format!("{label}: best {best}, bound {bound}, {tried}, {time}; {keeps}"),
        format!("best {best}, bound {bound}, {tried}, {time}; {keeps}"),
        format!("{best}, bound {bound}, {tried}, {time}; {keeps}"),
        format!("{best}, bound {bound}, {tried}; {keeps}"),
        format!("{best}, bound {bound}, {tried}, {time}"),
        format!("{best} ≥ {bound}, {tried}"),
        format!("{best} ≥ {bound}, {time}"),
    ];
    let fits = |way: &&String| way.chars().count() <= room;
    ways.iter().find(fits).or(ways.last()).cloned().unwrap_or_default()
}

fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_wraps() {
        assert_eq!(cut("█ best", 3), "█ b");
        assert_eq!(cut("short", 79), "short");
        assert_eq!(cut("x", 0), "");
    }

    #[test]
    fn the_best_never_rises_within_a_stage() {
        let news =
            |best, stage| Progress { best, bound: 90, states: 1, of: "states", stage, elapsed: PATIENCE };
        let mut latest = Latest::default();
        let mut best_after = |news: Progress| {
            latest.hear(&news);
            latest.progress.map(|progress| (progress.best, progress.bound))
        };
        assert_eq!(best_after(news(100, "rewrites")), Some((100, 90)));
        assert_eq!(best_after(news(120, "rewrites")), Some((100, 90)));
        assert_eq!(best_after(news(80, "rewrites")), Some((80, 80)));
        assert_eq!(best_after(news(120, "loops")), Some((120, 90)));
    }

    #[test]
    fn digits_come_in_threes() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1000, 12_345_678].map(thousands)[..]);
    }

    #[test]
    fn the_line_says_what_the_search_knows_and_there_is_room_for() {
        let progress = Progress {
            best: 300_000,
            bound: 200_000,
            states: 1500,
            of: "loops tried",
            stage: "",
            elapsed: PATIENCE,
        };
        let line = |room: usize| describe("net.tflite", Some(&progress), Duration::from_secs(3), room);
        assert_eq!(
            [line(139), line(79), line(39)],
            [
                "net.tflite: best 300.0 KB, bound 200.0 KB (gap 50.0 %), 1,500 loops tried, 3 s; Ctrl-C keeps the best",
                "best 300.0 KB, bound 200.0 KB, 1,500 loops tried, 3 s; Ctrl-C keeps the best",
                "300.0 KB ≥ 200.0 KB, 1,500 loops tried",
            ]
        );
        assert!((28..200).all(|room| line(room).chars().count() <= room));
        let asking = Progress { states: 0, of: "asking ONNX Runtime", ..progress };
        let line = |progress| describe("net.onnx", progress, Duration::from_secs(2), 79);
        assert_eq!(line(Some(&asking)), "net.onnx: asking ONNX Runtime, 2 s");
        assert_eq!(line(None), "net.onnx: 2 s");
    }
}
