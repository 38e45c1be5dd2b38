//! Gathers everything that the page about a model shows; `serenity-report` draws it.
//!
//! Takes a model as it was read, its optimised form, and the options. Returns a [`Page`]: both sides with every tensor,
//! op and offset; the changes; sentences on what sets the peak and what would lower it; and the model on boards, with
//! on-chip memories and among random orders.
//!
//! Guarantees: the figures are those of the plan and of `inspect`; equal inputs give equal pages, byte for byte.

mod changes;
mod remedies;
mod side;
mod why;
mod wider;

pub use serenity_report::page::{Page, Unit};
pub use serenity_report::short_names;

use serenity::boards::boards;
use serenity::pipeline::{FastSession, Need};
use serenity::{Input, Optimized, Options, Plan};
use serenity_ir::{Graph, OpId};
use serenity_report::grouped;
use serenity_report::page::{Fit, Headline, Side};
use serenity_runtimes::{MemoryModel, MemoryModelExt, Offsets, Tail};
use side::Ground;
use std::sync::Arc;

/// Options of a page.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// The budget that the model has to fit.
    pub budget: Option<u64>,
    /// The budget as the user typed it, for commands that the page suggests.
    pub budget_typed: String,
    /// All ways to make the model fit, if they are known already; otherwise they are computed if it does not fit.
    pub ways: Option<Arc<serenity_fit::Fit>>,
    /// The model and the options as the user typed them, for commands that the page suggests.
    pub typed: String,
    /// How many random orders to draw.
    pub orders: u64,
}

impl PageOptions {
    /// The unit in which the page states sizes.
    pub(crate) fn unit(&self) -> Unit {
        Unit::typed(&self.budget_typed)
    }
}

impl Default for PageOptions {
    fn default() -> Self {
        Self { budget: None, budget_typed: String::new(), ways: None, typed: String::new(), orders: 2000 }
    }
}

/// Gathers the page of a model, which was optimised to `found` with these options.
///
/// ```
/// use serenity::{Options, load, optimize};
/// use serenity_page::{PageOptions, page};
/// # fn main() -> Result<(), serenity::Error> {
/// let input = load("zoo:swiftnet-a")?;
/// let options = Options::for_input(&input);
/// let found = optimize(&input, &options)?;
/// let page = page(&input, &found, &options, &PageOptions::default());
/// assert_eq!((page.headline.before, page.headline.after), (213_248, 150_528));
/// assert!(page.to_html().starts_with("<!DOCTYPE html>"));
/// # Ok(()) }
/// ```
pub fn page(input: &Input, found: &Optimized, options: &Options, asked: &PageOptions) -> Page {
    let plan = &found.plan;
    let given = options.given_plan.as_ref();
    let (before, after) = (before(input, found, given), after(found, given));
    let tails = input.tail(plan.model).zip(found.model.tail(plan.model));
    let changes = changes::changes(found, &after, asked.unit());
    let mut sides = [before.side(), after.side()];
    tell(&mut sides, plan, tails, asked.budget);
    let headline = headline(found, &sides[1], tails, asked);
    Page {
        title: title(input),
        facts: facts(plan),
        headline,
        about_changes: changes::about(plan, &changes),
        changes,
        remedies: remedies::remedies(input, found, options, asked),
        device: wider::device(plan, tails.filter(|_| plan.counts_everything())),
        traffic: wider::traffic(&before, &after, plan, options),
        orders: wider::orders(&found.model, &after, plan, asked.orders, options),
        notes: notes(input, plan, tails),
        sides,
    }
}

fn title(input: &Input) -> String {
    let name = input.graph().name();
    let file = std::path::Path::new(&input.name).file_name().and_then(|name| name.to_str());
    if input.name.starts_with("zoo:") || name.is_empty() || input.file.format().has_weights() {
        file.unwrap_or(&input.name).to_owned()
    } else {
        name.to_owned()
    }
}

/// The model as it came. For a default session of ONNX Runtime only the total is known, so this is then the optimised
/// file in its own order.
fn before<'a>(input: &'a Input, found: &'a Optimized, given: Option<&'a Offsets>) -> Ground<'a> {
    let plan = &found.plan;
    let came = if matches!(plan.session, Some(Ok(_))) { &found.model } else { input };
    let graphs = came.graphs();
    let model = plan.model.without_plan();
    let mut orders: Vec<_> = graphs.iter().map(Graph::file_order).collect();
    let ground = Ground { graphs, orders: orders.clone(), model, plan: given, is_looped: false };
    orders[0] = model.execution_order(&ground.main(), &orders[0]);
    let ground = Ground { orders, ..ground };
    // A stored plan that is not safe with these kernels was not counted.
    let counted = ground.side_arena() == plan.before.arena;
    if counted { ground } else { Ground { plan: None, ..ground } }
}

/// The planned model.
fn after<'a>(found: &'a Optimized, given: Option<&'a Offsets>) -> Ground<'a> {
    let plan = &found.plan;
    let orders = plan.orders().into_iter().map(<[OpId]>::to_vec).collect();
    let ground = Ground {
        graphs: found.model.graphs(),
        orders,
        model: plan.model,
        plan: plan.offsets.as_ref(),
        is_looped: plan.loops.is_some(),
    };
    if plan.offsets.is_none() && given.is_some() && !plan.reorders() {
        let kept = Ground { plan: given, ..ground };
        return if kept.side_arena() == plan.after.arena { kept } else { Ground { plan: None, ..kept } };
    }
    ground
}

/// Adds the figures of the plan to both sides.
fn tell(sides: &mut [Side; 2], plan: &Plan, tails: Option<(Tail, Tail)>, budget: Option<u64>) {
    let [before, after] = sides;
    before.caption = match &plan.session {
        Some(Ok(_)) => "The optimised model in the order of its file.".to_owned(),
        _ => "The model as it came, in its own order.".to_owned(),
    };
    after.caption = match () {
        () if plan.loops.is_some() => {
            "With loops: bytes in which something lies, each counted once.".to_owned()
        }
        () if plan.reorders() && plan.keeps_operators() => "In the order that was found.".to_owned(),
        () if plan.reorders() => "Rewritten, in the order that was found.".to_owned(),
        () if plan.keeps_operators() => "Its own order is kept: none that was found needs less.".to_owned(),
        () => "Rewritten, each op where the one stood that it was made of.".to_owned(),
    };
    if plan.loops.is_none() && plan.unknown.is_empty() {
        after.bound = Some(plan.bound);
        after.arena_bound = Some(plan.least());
    }
    let heads = [plan.before.needs(), plan.after.needs()];
    for (at, side) in sides.iter_mut().enumerate() {
        // Memory that the runtime keeps besides is not there for activations.
        let tail = tails.map_or(0, |(before, after)| {
            let tail = if at == 0 { before } else { after };
            tail.needed(heads[at]).arm32 - heads[at]
        });
        side.room = budget.map(|budget| budget.saturating_sub(tail));
    }
}

fn facts(plan: &Plan) -> Vec<(String, String)> {
    let mut facts = vec![("runtime".to_owned(), plan.model.without_plan().to_string())];
    facts.extend(plan.model.kernels().map(|kernels| ("kernels".to_owned(), kernels.to_string())));
    let ops = if plan.before.ops == plan.after.ops {
        grouped(plan.before.ops as u128)
    } else {
        format!("{} → {}", grouped(plan.before.ops as u128), grouped(plan.after.ops as u128))
    };
    facts.push(("ops".to_owned(), ops));
    if !plan.rewrites.is_empty() {
        facts.push(("rewrites".to_owned(), grouped(plan.rewrites.len() as u128)));
    }
    if let Some(loops) = &plan.loops {
        facts.push(("loops".to_owned(), grouped(loops.windows.len() as u128)));
    }
    facts
}

fn headline(found: &Optimized, after: &Side, tails: Option<(Tail, Tail)>, asked: &PageOptions) -> Headline {
    let plan = &found.plan;
    let need = Need::of(&found.model, plan);
    let before = tails.map_or(plan.before.needs(), |(tail, _)| tail.needed(plan.before.needs()).arm32);
    let counts = match (tails, plan.after.arena, plan.model) {
        (Some(_), ..) => "The whole arena on a 32-bit device",
        (None, Some(_), MemoryModel::Ort(_)) => "What ONNX Runtime asks its arena for",
        (None, Some(_), _) => "The runtime's arena",
        (None, None, _) => "The peak of activation memory",
    };
    let at_least = !plan.counts_everything();
    let (fit, fit_text) = fit(found, need, tails, asked);
    Headline {
        counts: counts.to_owned(),
        at_least,
        before,
        after: need.bytes,
        proof: if plan.is_optimal() {
            "Proved: no combination of rewrites, order and placement needs less.".to_owned()
        } else {
            String::new()
        },
        budget: asked.budget,
        unit: asked.unit(),
        fit,
        fit_text,
        why: why::why(found, after, asked.unit()),
    }
}

fn fit(found: &Optimized, need: Need, tails: Option<(Tail, Tail)>, asked: &PageOptions) -> (Fit, String) {
    let (plan, wanted) = (&found.plan, need.to_be_safe());
    let unit = asked.unit();
    let with_margin = |word: &str| match need.margin {
        0 => String::new(),
        margin => format!(", {word} a safety margin of {}", grouped(margin.into())),
    };
    let typed = asked.budget.map_or_else(String::new, |budget| unit.size(budget));
    match asked.budget {
        Some(budget) if plan.fits(need, budget) => {
            let spare = grouped((budget - wanted).into());
            (Fit::Fits, format!("Fits {typed}: {spare} bytes to spare{}.", with_margin("after")))
        }
        Some(budget) if wanted > budget => {
            let over = grouped((wanted - budget).into());
            (Fit::TooLarge, format!("Does not fit {typed}: {over} bytes over{}.", with_margin("including")))
        }
        Some(_) => (Fit::Unknown, format!("Whether it fits {typed} is unknown, because some sizes are.")),
        None => {
            if tails.is_none() || !plan.counts_everything() {
                return (Fit::NotAsked, String::new());
            }
            let margin = need.margin;
            let smallest = boards().into_iter().find(|board| board.ram >= wanted);
            let text = match smallest {
                Some(board) => format!(
                    "With a margin of {}, the smallest board that holds it is {} ({}, {}).",
                    unit.size(margin),
                    board.name,
                    board.chip,
                    unit.size(board.ram)
                ),
                None => {
                    format!(
                        "With a margin of {}, no known board has that much on-chip RAM.",
                        unit.size(margin)
                    )
                }
            };
            (Fit::NotAsked, text)
        }
    }
}

/// What a reader must know to read the figures right.
fn notes(input: &Input, plan: &Plan, tails: Option<(Tail, Tail)>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for unknown in plan.unknown.iter().take(8) {
        notes.push(format!(
            "Not known: the {} of {}: {}.",
            unknown.kind.name(),
            why::quoted(&unknown.name),
            unknown.reason
        ));
    }
    if plan.unknown.len() > 8 {
        notes.push(format!("And {} more that are not known.", plan.unknown.len() - 8));
    }
    if let Some((_, tail)) = tails.filter(|(_, tail)| tail.unknown_kernels > 0) {
        notes.push(format!(
            "TFLM has no kernel that we know for {} of the operators: your build must have one.",
            tail.unknown_kernels
        ));
    }
    if input.plan().is_some() && plan.reorders() && plan.offsets.is_none() {
        notes.push(
            "The plan of the arena that the model came with is for another order: it is dropped.".to_owned(),
        );
    }
    match &plan.session {
        Some(Ok(FastSession { measured: Ok(_), .. })) => {
            notes.push(
                "Before: what a default session of your ONNX Runtime asked for, as measured.".to_owned(),
            );
        }
        Some(Ok(_)) => {
            notes.push("Before: what a default session of ONNX Runtime asks for, as predicted.".to_owned());
        }
        Some(Err(why)) => {
            notes.push(format!("ONNX Runtime could not be asked to optimise the model first: {why}."));
        }
        None => {}
    }
    if plan.model.is_planned() && plan.loops.is_none() {
        notes.push(
            "Before, every tensor counts as a whole while it lives; after, an output that is written over an input counts only with what it needs more.".to_owned(),
        );
    }
    if let Some(reason) = plan.interrupted {
        notes.push(format!(
            "The search was cut short ({reason}), so another run may end with another result."
        ));
    }
    notes.push(format!("Figures are those of the memory model `{}`; weights are not counted.", plan.model));
    notes
}
