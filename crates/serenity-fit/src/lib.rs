//! All ways to run a model in the memory of a device.
//!
//! Takes a model, the options of a search and the memory of the device. Returns a [table](Fit): what each [way](Way)
//! needs, costs, and asks of the application, from the one that asks least to the one that asks most.
//!
//! Guarantees: no figure but the time of a run is an estimate; each is that of a plan that was made and checked, or of
//! code that was written.
//! Equal inputs give equal tables.

mod floor;
mod made;
mod stated;
mod way;

pub use made::{Made, NotPossible};
pub use stated::{StatedFit, StatedWay};
pub use way::{Change, Way};

use made::Case;
use serenity::pipeline::macs_of;
use serenity::{Error, Input, Options};
use serenity_search::{Instant, Progress};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The memory of the device, in bytes.
    pub budget: u64,
    /// The budget as the user typed it, for the commands of the table.
    pub budget_typed: String,
    /// The model and the options as the user typed them, for the commands of the table.
    pub typed: String,
    /// Changes that may be made.
    pub allowed: Vec<Change>,
    /// Did the user name the kernels? Then no others are tried.
    pub names_kernels: bool,
    /// What all names in C code begin with, if the user says so.
    pub name: Option<String>,
    /// After how many rows of the input the next window ends, if the application looks at windows over time.
    pub hop: Option<u64>,
}

/// A way that takes less than this share of the time of another one is much faster.
const MUCH_FASTER: f64 = 0.8;

/// All ways to run a model.
#[derive(Debug)]
pub struct Fit {
    /// One row for each way that is permitted.
    pub rows: Vec<Row>,
    /// Multiplications of a run of the model as it came.
    pub macs: u64,
    /// If nothing fits: the least that the model needs, what sets it, and what change of the model would help.
    pub advice: Vec<String>,
}

/// One way to run a model.
#[derive(Debug)]
pub struct Row {
    /// The way.
    pub way: Way,
    /// What came of it.
    pub outcome: Result<Made, NotPossible>,
}

impl Row {
    /// Does the model fit this way?
    pub fn fits(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|made| made.fits)
    }
}

impl Fit {
    /// The first way that fits and is wanted.
    pub fn first(&self, is_wanted: impl Fn(&Way) -> bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.fits() && is_wanted(&row.way))
    }

    /// The fastest way that fits, if it is much faster than `chosen` by estimate.
    pub fn faster_than(&self, chosen: &Made) -> Option<(&Row, f64)> {
        let takes = |row: &'_ Row| row.outcome.as_ref().ok().and_then(|made| made.extra_time);
        let fitting = self.rows.iter().filter(|row| row.fits());
        let timed = fitting.filter_map(|row| Some((row, takes(row)?)));
        let fastest = timed.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        ((1.0 + fastest.1) < MUCH_FASTER * (1.0 + chosen.extra_time?)).then_some(fastest)
    }
}

/// Tries all ways to run a model.
///
/// ```
/// use serenity::{Options, load};
/// use serenity_fit::{Change, Question, fit};
/// # fn main() -> Result<(), serenity::Error> {
/// let input = load("zoo:swiftnet-a")?;
/// let allowed = Change::allowed(&[], &[]);
/// let question = Question { budget: 205_000, budget_typed: "205KB".to_owned(), typed: input.name.clone(), allowed, names_kernels: false, name: None, hop: None };
/// let fit = fit(&input, &Options::for_input(&input), &question)?;
/// let first = fit.first(|_| true).map(|row| row.way.to_string());
/// assert_eq!(first.as_deref(), Some("order and plan"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// If the model cannot be planned at all, or if there is a hop and no way that slides windows.
pub fn fit(input: &Input, options: &Options, question: &Question) -> Result<Fit, Error> {
    let (quiet, tell) = (Options { progress: None, ..options.clone() }, options.progress.as_ref());
    let case = Case::new(input, &quiet, question)?;
    let is_permitted = |way: &Way| way.changes().iter().all(|change| question.allowed.contains(change));
    let ways = Way::all(question.allowed.contains(&Change::Rewrites))
        .into_iter()
        .filter(|way| is_permitted(way) && case.applies(*way));
    let ways: Vec<Way> = ways.collect();
    if question.hop.is_some() && !ways.iter().any(|way| way.is_slid) {
        return Err(no_windows());
    }
    let started = Instant::now();
    let tried = AtomicU64::new(0);
    let rows = on_all_cores(&ways, |way| {
        let row = Row { way, outcome: case.made(way) };
        let states = tried.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(tell) = tell {
            let (best, of, elapsed) = (u64::MAX, "ways tried", started.elapsed());
            tell(&Progress { best, bound: 0, states, of, stage: "", elapsed });
        }
        row
    });
    let advice = if rows.iter().any(Row::fits) {
        Vec::new()
    } else {
        floor::advice(input, options.model, &rows, question)
    };
    Ok(Fit { rows, macs: macs_of(input.graph()), advice })
}

fn no_windows() -> Error {
    let reason = "windows over time need a whole .tflite model for TFLM, or for C code with kernels of its own: no such way is left here";
    let remedy = "leave out the hop, or allow plan and stream, and for C code rewrites, loops and c";
    serenity::pipeline::Error::Unfit { reason: reason.to_owned(), remedy: remedy.to_owned() }.into()
}

/// Makes a row of every way. No way depends on another, so how many run at once changes no row.
fn on_all_cores(ways: &[Way], make: impl Fn(Way) -> Row + Sync) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::with_capacity(ways.len()));
    let work = || {
        while let Some(&way) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
            let row = make(way);
            rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(ways.len());
    std::thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(work);
        }
        work();
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|row| ways.iter().position(|way| *way == row.way));
    rows
}
