//! Explains in sentences why a model needs as much as it does.

use serenity::{Optimized, Plan};
use serenity_loops::Because;
use serenity_pipeline::whole_need;
use serenity_report::page::{Role, Side, Unit};
use serenity_report::short_names;

/// The characters of a name that fit a sentence.
const ROOM: usize = 44;
/// The most waiting tensors that are named.
const MOST_NAMED: usize = 2;

/// Names as they appear in sentences.
pub(super) struct Names {
    ops: Vec<String>,
    items: Vec<String>,
}

impl Names {
    pub(super) fn new(side: &Side) -> Self {
        let short =
            |names: Vec<&str>| short_names(&names, ROOM).into_iter().map(|name| quoted(&name)).collect();
        Self {
            ops: short(side.ops.iter().map(|op| op.name.as_str()).collect()),
            items: short(side.items.iter().map(|item| item.name.as_str()).collect()),
        }
    }
}

/// A name that can stand in backticks.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// All reasons, the most important first.
pub(super) fn why(found: &Optimized, side: &Side, unit: Unit) -> Vec<String> {
    let plan = &found.plan;
    let names = Names::new(side);
    let mut sentences = vec![peak(plan, side, &names, unit)];
    sentences.extend(between_peak_and_arena(plan, side, unit));
    sentences.extend(besides_activations(found, unit));
    sentences.push(proof(plan, unit));
    sentences
}

/// What is in use at the peak, and why all of it at the same time.
fn peak(plan: &Plan, side: &Side, names: &Names, unit: Unit) -> String {
    let Some(op) = side.ops.get(side.peak_op) else { return "There is nothing to run.".to_owned() };
    let me = &names.ops[side.peak_op];
    let kind = if op.kind.is_empty() { String::new() } else { format!("`{}`, ", op.kind) };
    let at = format!("{kind}op {} of {}", side.peak_op + 1, side.ops.len());
    if plan.loops.is_some() {
        return in_loops(plan, side, names, &at, unit);
    }
    let named = |item: usize| {
        let what = match side.items[item].role {
            Role::Input => ", the network's own input",
            Role::Output => ", an output of the network",
            Role::Between | Role::Scratch | Role::Inner => "",
        };
        format!("{} ({}{what})", names.items[item], unit.size(side.items[item].bytes))
    };
    let list = |items: &[usize]| {
        let sized: Vec<String> =
            items.iter().filter(|&&item| side.items[item].bytes > 0).map(|&item| named(item)).collect();
        match sized.len() {
            0 => "nothing".to_owned(),
            1..=3 => joined(&sized),
            more => format!("{} and {} more", sized[..2].join(", "), more - 2),
        }
    };
    let scratch: u64 = own_scratch(side).sum();
    let besides =
        if scratch > 0 { format!(", and works in {} of scratch", unit.size(scratch)) } else { String::new() };
    let needs = format!("reads {} and writes {}{besides}", list(&op.reads), list(&op.writes));
    let waiting = waiting(side);
    if waiting.is_empty() {
        let both = if op.reads.is_empty() {
            "and that must exist as a whole"
        } else {
            "and these must exist at the same time"
        };
        return format!(
            "One op alone sets the peak: {me} ({at}) {needs}, {both}. No other order lowers it: only a smaller tensor, or computing it in parts."
        );
    }
    let bytes: u64 = waiting.iter().map(|waiting| waiting.bytes).sum();
    let mut told: Vec<String> = waiting
        .iter()
        .take(MOST_NAMED)
        .map(|&Waiting { item, bytes, to }| {
            let until = side.ops.iter().position(|op| op.to >= to).unwrap_or(side.ops.len() - 1);
            let until = match side.items[item].role {
                Role::Output => "the caller, as an output of the network".to_owned(),
                _ => format!("{} (op {})", names.ops[until], until + 1),
            };
            let what = if side.items[item].role == Role::Input { ", the network's own input," } else { "" };
            format!("{} ({}){what} waits for {until}", names.items[item], unit.size(bytes))
        })
        .collect();
    if waiting.len() > MOST_NAMED {
        told.push(format!("{} more wait", waiting.len() - MOST_NAMED));
    }
    format!(
        "The peak is at {me} ({at}), which {needs}. Besides, {} must be kept for later ops (skip connections and branches): {}.",
        unit.size(bytes),
        told.join("; ")
    )
}

/// Why a model with loops needs what it needs: what lies in the arena at the same time, and what no loops avoid.
fn in_loops(plan: &Plan, side: &Side, names: &Names, at: &str, unit: Unit) -> String {
    let op = &side.ops[side.peak_op];
    let alive = side.live.iter().filter(|live| live.from <= op.to && live.to >= op.from);
    let largest =
        alive.max_by_key(|live| live.bytes).and_then(|live| Some((*live.items.first()?, live.bytes)));
    let most = largest.map_or_else(String::new, |(item, bytes)| {
        format!(", of which {} takes {}", names.items[item], unit.size(bytes))
    });
    let floor = plan.loops.as_ref().map_or_else(String::new, |applied| {
        let bytes = unit.size(applied.floor.bytes);
        match &applied.floor.why {
            Because::Inputs => {
                format!(" No loops get below {bytes}: the inputs of the network take as much.")
            }
            Because::Op(name) => {
                let name = quoted(&short_names(&[name.as_str()], ROOM)[0]);
                format!(" No loops get below {bytes}: {name} needs a tensor of that size as a whole.")
            }
        }
    });
    format!(
        "With loops, most is in use at {} ({at}): {}{most}.{floor}",
        names.ops[side.peak_op],
        unit.size(side.peak)
    )
}

/// What is needed besides activations, if that is most of the need.
fn besides_activations(found: &Optimized, unit: Unit) -> Option<String> {
    let head = found.plan.after.needs();
    let tail = whole_need(&found.model, &found.plan) - head;
    (tail > head).then(|| {
        format!(
            "More than half of it is not activations: {} is what TFLM keeps for tensors and operators, whatever their order ({} are activations).",
            unit.size(tail),
            unit.size(head)
        )
    })
}

/// Bytes of scratch at the peak.
fn own_scratch(side: &Side) -> impl Iterator<Item = u64> + '_ {
    let peak = side.ops.get(side.peak_op);
    side.live
        .iter()
        .filter(move |live| peak.is_some_and(|op| live.from <= op.to && live.to >= op.from))
        .filter(|live| live.items.iter().all(|&item| side.items[item].role == Role::Scratch))
        .map(|live| live.bytes)
}

/// The names as a list in a sentence.
fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A tensor that is in use at the peak though the op there does not touch it.
#[derive(Clone, Copy)]
struct Waiting {
    item: usize,
    bytes: u64,
    /// The last unit of time in which it is in use.
    to: usize,
}

/// All waiting tensors, the largest first.
fn waiting(side: &Side) -> Vec<Waiting> {
    let Some(op) = side.ops.get(side.peak_op) else { return Vec::new() };
    let is_touched = |item: &usize| {
        op.reads.contains(item) || op.writes.contains(item) || side.items[*item].role == Role::Scratch
    };
    let alive = side.live.iter().filter(|live| live.from <= op.to && live.to >= op.from);
    let mut waiting: Vec<Waiting> = alive
        .filter(|live| !live.items.iter().any(is_touched))
        .filter_map(|live| Some(Waiting { item: *live.items.first()?, bytes: live.bytes, to: live.to }))
        .collect();
    waiting.sort_by_key(|waiting| (std::cmp::Reverse(waiting.bytes), waiting.item));
    waiting
}

/// Gaps in the arena, if there are any.
fn between_peak_and_arena(plan: &Plan, side: &Side, unit: Unit) -> Option<String> {
    let gap = plan.after.needs().checked_sub(side.peak).filter(|&gap| gap > 0 && plan.loops.is_none())?;
    let proved = match plan.places {
        Some(places) if places.is_optimal() => " Proved: for this order, no placement leaves less.",
        _ => "",
    };
    Some(format!(
        "The arena is {} larger than what is in use at the peak: tensors of different sizes and lifetimes leave gaps between them.{proved}",
        unit.size(gap)
    ))
}

/// What is proved, and what is not.
pub(super) fn proof(plan: &Plan, unit: Unit) -> String {
    if !plan.unknown.is_empty() {
        let why = plan.stopped().unwrap_or_default();
        return format!("Nothing is proved, because not all is known: {why}.");
    }
    let least = plan.least();
    let with = if plan.model.kernels().is_some() {
        " with these operators and kernels"
    } else {
        " with these operators"
    };
    match (plan.is_optimal(), plan.meets_bound()) {
        (true, _) => {
            format!(
                "Proved: no combination of rewrites, order and placement needs less{with}. Loops are not covered."
            )
        }
        (false, true) => {
            format!(
                "Proved: no order and placement need less{with}. Other rewrites might, and loops are not covered."
            )
        }
        (false, false) if least == 0 => "No lower bound is known for loops, so nothing is proved.".to_owned(),
        (false, false) => format!(
            "Not proved to be least: no order of these operators needs less than {}, so at most {:.1} % could still be gained.",
            unit.size(least),
            100.0 * (plan.after.needs() - least) as f64 / plan.after.needs().max(1) as f64
        ),
    }
}
