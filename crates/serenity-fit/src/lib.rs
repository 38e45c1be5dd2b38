//! All ways to run a model in the memory of a device.
//!
//! Takes a model, the options of a search and the memory of the device. Returns a [table](Fit): what each [way](Way)
//! needs, costs, and asks of the application, from the one that asks least to the one that asks most.
//!
//! Guarantees: no figure is an estimate; each is that of a plan that was made and checked, or of code that was written.
//! Equal inputs give equal tables.

mod advice;
mod made;
mod way;

pub use made::{Made, NotPossible};
pub use way::{Change, Way};

use made::Case;
use serenity::{Error, Input, Options};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The memory of the device, in bytes.
    pub budget: u64,
    /// The model and the options as the user typed them, for the commands of the table.
    pub typed: String,
    /// Changes that may be made.
    pub allowed: Vec<Change>,
    /// Did the user name the kernels? Then no others are tried.
    pub names_kernels: bool,
}

/// All ways to run a model.
#[derive(Debug)]
pub struct Fit {
    /// One row for each way that is permitted.
    pub rows: Vec<Row>,
    /// If nothing fits: how far down it can go, who is in the way, and what change of the model would help.
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
}

/// Tries all ways to run a model.
///
/// ```
/// use serenity::{Options, load};
/// use serenity_fit::{Change, Question, fit};
/// # fn main() -> Result<(), serenity::Error> {
/// let input = load("zoo:swiftnet-a")?;
/// let allowed = Change::all().map(|(_, change)| change).collect();
/// let question = Question { budget: 205_000, typed: input.name.clone(), allowed, names_kernels: false };
/// let fit = fit(&input, &Options::for_input(&input), &question)?;
/// let first = fit.first(|_| true).map(|row| row.way.to_string());
/// assert_eq!(first.as_deref(), Some("order and places"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// If the model cannot be planned at all.
pub fn fit(input: &Input, options: &Options, question: &Question) -> Result<Fit, Error> {
    let case = Case::new(input, options, question)?;
    let is_permitted = |way: &Way| way.changes().iter().all(|change| question.allowed.contains(change));
    let ways = Way::all().into_iter().filter(|way| is_permitted(way) && case.applies(*way));
    let mut rows: Vec<Row> = Vec::new();
    for way in ways {
        rows.push(Row { way, outcome: case.made(way) });
    }
    let advice = if rows.iter().any(Row::fits) {
        Vec::new()
    } else {
        advice::advice(input, options.model, &rows, question)
    };
    Ok(Fit { rows, advice })
}
