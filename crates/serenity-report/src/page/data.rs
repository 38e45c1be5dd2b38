//! The contents of a page: plain figures and sentences, whoever computed them.

use super::Unit;

/// Everything that one page shows about a model, before and after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The name of the model.
    pub title: String,
    /// Facts about the model, such as `runtime` and `tflm`.
    pub facts: Vec<(String, String)>,
    /// The figures at the top of the page.
    pub headline: Headline,
    /// The model as it came, and as it is now.
    pub sides: [Side; 2],
    /// The rewrites, loops and conversions.
    pub changes: Vec<Change>,
    /// Why nothing was changed, or what all changes have in common.
    pub about_changes: String,
    /// Suggestions that would lower the need, the cheapest first.
    pub remedies: Vec<Remedy>,
    /// The whole arena on a device, if it is known for the runtime.
    pub device: Option<Device>,
    /// Off-chip traffic, if it was computed.
    pub traffic: Option<Traffic>,
    /// Random orders, if any were drawn.
    pub orders: Option<Orders>,
    /// What a reader must know to read the figures right.
    pub notes: Vec<String>,
}

/// Whether the model fits the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// There is no budget.
    #[default]
    NotAsked,
    /// The model fits.
    Fits,
    /// The model does not fit.
    TooLarge,
    /// Not all bytes are known.
    Unknown,
}

/// The most important figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    /// What the figures count, as in `the whole arena on a 32-bit device`.
    pub counts: String,
    /// Are the figures minimums?
    pub at_least: bool,
    /// Bytes needed before.
    pub before: u64,
    /// Bytes needed after.
    pub after: u64,
    /// What is proved, in a sentence.
    pub proof: String,
    /// The budget that it has to fit, if there is one.
    pub budget: Option<u64>,
    /// The unit in which the budget was typed, and in which sizes are stated.
    pub unit: Unit,
    /// Whether it fits the budget.
    pub fit: Fit,
    /// Whether it fits the budget, in a sentence.
    pub fit_text: String,
    /// Why it needs as much as it does, the most important sentence first.
    pub why: Vec<String>,
}

impl Headline {
    pub(crate) fn gains_nothing(&self) -> bool {
        self.before == self.after
    }
}

/// A tensor, or what an op needs besides its tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// Its full name.
    pub name: String,
    /// Dimensions, if known.
    pub shape: Option<Vec<u64>>,
    /// Type of its elements, if known.
    pub dtype: Option<String>,
    /// Bytes as the runtime counts them.
    pub bytes: u64,
    /// Its role in the network.
    pub role: Role,
    /// The op that writes it: an index into [`Side::ops`].
    pub producer: Option<usize>,
    /// The ops that read it: indices into [`Side::ops`].
    pub readers: Vec<usize>,
}

/// The role of a tensor in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Between two ops.
    #[default]
    Between,
    /// The caller fills it.
    Input,
    /// The caller reads it.
    Output,
    /// Needed by one op besides its tensors.
    Scratch,
    /// Of a graph that an op runs, as a loop does.
    Inner,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Between => "between ops",
            Self::Input => "input of the network",
            Self::Output => "output of the network",
            Self::Scratch => "scratch",
            Self::Inner => "inside a loop",
        }
    }
}

/// An op, in execution order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Its full name.
    pub name: String,
    /// The type of the op.
    pub kind: String,
    /// The first unit of the time axis in which it runs; it takes several units if it runs other graphs.
    pub from: usize,
    /// The last unit of the time axis in which it runs.
    pub to: usize,
    /// Bytes in use while it runs.
    pub during: u64,
    /// Bytes in use when it is done.
    pub after: u64,
    /// The tensors that it reads: indices into [`Side::items`].
    pub reads: Vec<usize>,
    /// The tensors that it writes: indices into [`Side::items`].
    pub writes: Vec<usize>,
}

/// Bytes in use from one unit of time to another, both included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// The items that these bytes belong to, one after the other: indices into [`Side::items`].
    pub items: Vec<usize>,
    /// The number of bytes.
    pub bytes: u64,
    /// The first unit of the time axis.
    pub from: usize,
    /// The last unit of the time axis.
    pub to: usize,
}

/// The place of an item in the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemPlace {
    /// The item: an index into [`Side::items`].
    pub item: usize,
    /// The offset in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The first unit of the time axis.
    pub from: usize,
    /// The last unit of the time axis.
    pub to: usize,
}

/// The model at one time: as it came, or as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// How its order and its places came about, in a line.
    pub caption: String,
    /// Tensors and scratch.
    pub items: Vec<Item>,
    /// The ops in the order in which they run.
    pub ops: Vec<Step>,
    /// What is in use when.
    pub live: Vec<Live>,
    /// The most that is in use at any time.
    pub peak: u64,
    /// The op at which that is.
    pub peak_op: usize,
    /// The arena, if the runtime has one.
    pub arena: Option<u64>,
    /// Who lies where; empty if nobody knows.
    pub places: Vec<ItemPlace>,
    /// Who chose the places, or why there are none.
    pub about_places: String,
    /// No order peaks below this, if that is known.
    pub bound: Option<u64>,
    /// No arena is smaller than this, if that is known.
    pub arena_bound: Option<u64>,
    /// What the device leaves for activations, if there is a budget.
    pub room: Option<u64>,
}

impl Side {
    /// How many units the time axis has.
    pub fn length(&self) -> usize {
        self.ops.iter().map(|op| op.to + 1).max().unwrap_or(1)
    }

    /// The part of the time axis in which the peak is reached.
    pub(crate) fn peak_span(&self) -> (usize, usize) {
        self.ops.get(self.peak_op).map_or((0, 0), |op| (op.from, op.to))
    }

    /// By item: the colour of what is in use at the peak, the largest first; `None` for all others. Bytes that several
    /// tensors live in, one after the other, count for the one that names them.
    pub(crate) fn colours(&self) -> Vec<Option<usize>> {
        let (from, to) = self.peak_span();
        let mut bytes = vec![None; self.items.len()];
        for live in self.live.iter().filter(|live| live.from <= to && live.to >= from) {
            for (at, &item) in live.items.iter().enumerate() {
                *bytes[item].get_or_insert(0) += if at == 0 { live.bytes } else { 0 };
            }
        }
        let mut alive: Vec<usize> = (0..bytes.len()).filter(|&item| bytes[item].is_some()).collect();
        alive.sort_by_key(|&item| (std::cmp::Reverse(bytes[item]), item));
        let mut colours = vec![None; bytes.len()];
        for (rank, item) in alive.into_iter().enumerate() {
            colours[item] = Some(rank);
        }
        colours
    }
}

/// Something that was done to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// What kind of thing: `rewrite`, `loop`, `order`, …
    pub kind: String,
    /// What, for people.
    pub text: String,
    /// Bytes that it saves by itself, if that is known.
    pub gain: Option<u64>,
    /// What it saves, in words.
    pub gained: String,
    /// What it costs, in words.
    pub cost: String,
}

/// Something that could be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remedy {
    /// What, in a sentence.
    pub text: String,
    /// What to type, if it can be typed.
    pub command: Option<String>,
    /// What would be needed then, if that is known.
    pub needs: Option<u64>,
    /// Would that fit the budget?
    pub fits: Option<bool>,
}

/// The whole arena of a device before and after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// The sections of the arena before.
    pub before: Sections,
    /// The sections of the arena after.
    pub after: Sections,
    /// Boards, smallest first.
    pub boards: Vec<Board>,
}

/// Sections of an arena in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// Activations and scratch.
    pub head: u64,
    /// The tail: what persists.
    pub tail: u64,
    /// What to add to be safe.
    pub margin: u64,
}

impl Sections {
    /// The sum of all sections.
    pub fn sum(&self) -> u64 {
        self.head + self.tail + self.margin
    }
}

/// A microcontroller board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// What it is sold as.
    pub name: String,
    /// The microcontroller on it.
    pub chip: String,
    /// Its RAM in bytes.
    pub ram: u64,
}

/// Bytes moved between on-chip and off-chip memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// What moves in any case.
    pub compulsory: u64,
    /// One entry per on-chip size, ascending.
    pub sizes: Vec<TrafficAt>,
}

/// What moves besides, with one on-chip size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficAt {
    /// The on-chip memory.
    pub on_chip: u64,
    /// Bytes in the order that the model came with.
    pub before: u64,
    /// Bytes in the order that it has now, if that can be compared.
    pub after: Option<u64>,
}

/// How random orders peak.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Orders {
    /// How many were drawn.
    pub count: u64,
    /// Every peak that occurred, ascending, and how many orders have it.
    pub peaks: Vec<(u64, u64)>,
    /// The peak of the model's own order.
    pub own: u64,
    /// The peak of the best order.
    pub best: u64,
    /// The share of orders that are as good as the best.
    pub share_best: f64,
}
