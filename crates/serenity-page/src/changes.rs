//! The changes made to a model, with the gain and the cost of each.

use super::side::Ground;
use super::why::quoted;
use serenity::pipeline::{AppliedLoops, AppliedRewrite, RewriteCost};
use serenity::{Optimized, Plan};
use serenity_formats::{NarrowedChannels, QuantizedIo};
use serenity_report::page::{Change, Unit};
use serenity_report::{grouped, short_names};
use serenity_rewrite::constant_channels::CONSTANT_CHANNELS;
use serenity_runtimes::MemoryModelExt;

const ROOM: usize = 44;

/// All changes, in the order in which they were made.
pub(super) fn changes(found: &Optimized, after: &Ground, unit: Unit) -> Vec<Change> {
    let plan = &found.plan;
    let mut changes: Vec<Change> = Vec::new();
    if let Some(Ok(fast)) = &plan.session {
        changes.push(Change {
            kind: "session".to_owned(),
            text: format!(
                "optimised by ONNX Runtime {} first, as a default session does when it loads the model",
                fast.version
            ),
            cost: "the session must be made with graph optimisation off".to_owned(),
            ..Change::default()
        });
        changes.extend(fast.rewrites.iter().map(|text| Change {
            kind: "rewrite".to_owned(),
            text: text.clone(),
            ..Change::default()
        }));
    }
    if let Some(io) = &plan.int8_io {
        changes.extend(io.changed().map(|(port, one)| Change {
            kind: "interface".to_owned(),
            text: format!(
                "{port} {} takes whole numbers ({}) instead of floats",
                quoted(&one.was),
                one.dtype
            ),
            cost: format!("another contract: scale {:?}, zero point {}", one.scale, one.zero_point),
            ..Change::default()
        }));
    }
    changes.extend(plan.constant_channels.as_ref().map(fewer_channels));
    changes.extend(plan.rewrites.iter().map(rewrite));
    changes.extend(plan.loops.iter().flat_map(|applied| loops(applied, unit)));
    changes.extend(order_and_places(plan, after));
    changes
}

/// A sentence about all changes, or why there are none.
pub(super) fn about(plan: &Plan, changes: &[Change]) -> String {
    if changes.is_empty() {
        return "Nothing: the model's own order and operators are kept, because nothing that was tried needs less.".to_owned();
    }
    let choice = plan.choice.filter(|_| !plan.rewrites.is_empty()).map_or_else(String::new, |choice| {
        format!(
            " {} sets of rewrites were compared: {} bytes in the best order without rewrites, {} with these.",
            grouped(choice.sets as u128),
            grouped(choice.without.into()),
            grouped(choice.with.into())
        )
    });
    let rounds = plan.constant_channels.as_ref().is_some_and(|channels| channels.rounds_reals);
    let is_exact = plan.rewrites.iter().all(|rewrite| rewrite.exact) && !rounds;
    let exact = if is_exact && plan.session.is_none() {
        "The results are the same bit for bit."
    } else if plan.rewrites.iter().any(|rewrite| rewrite.error.is_some()) {
        "The results are not the same: whole numbers are rounded more than once, as was asked for."
    } else {
        "The results are the same, bit for bit or up to the rounding of floats as each line says."
    };
    format!("{exact}{choice}")
}

fn fewer_channels(channels: &NarrowedChannels) -> Change {
    let [removed, of, fewer, bytes] =
        [channels.removed, channels.channels.before, channels.macs.saved(), channels.weight_bytes.saved()]
            .map(|number| grouped(number.into()));
    let exact = if channels.rounds_reals {
        "up to rounding where kernels add several terms at a time"
    } else {
        "bit for bit"
    };
    Change {
        kind: format!("rewrite: {CONSTANT_CHANNELS}"),
        text: format!(
            "{removed} of {of} channels are the same number everywhere, or nobody reads them: they are left out; the same {exact}"
        ),
        gain: None,
        gained: format!("{fewer} MACs, {bytes} bytes of weights"),
        cost: "nothing".to_owned(),
    }
}

fn rewrite(rewrite: &AppliedRewrite) -> Change {
    let exact = match (rewrite.exact, rewrite.error) {
        (true, _) => "bit for bit".to_owned(),
        (false, None) => "up to rounding".to_owned(),
        (false, Some(steps)) => format!("but for rounding, at most {} steps of its scale off", steps.ceil()),
    };
    let gained = match rewrite.gain {
        Some(0) => "nothing alone".to_owned(),
        Some(gain) => format!("{} bytes alone", grouped(gain.into())),
        None => "not measured alone".to_owned(),
    };
    let RewriteCost { ops, weight_bytes, additions, .. } = rewrite.cost;
    let costs: Vec<String> = [(ops, "ops"), (weight_bytes, "bytes of weights"), (additions, "additions")]
        .into_iter()
        .filter(|(amount, _)| *amount != 0)
        .map(|(amount, what)| {
            let sign = if amount < 0 { "−" } else { "+" };
            format!("{sign}{} {what}", grouped(amount.unsigned_abs().into()))
        })
        .collect();
    Change {
        kind: format!("rewrite: {}", rewrite.rule),
        text: format!("{}; the same {exact}", rewrite.text),
        gain: rewrite.gain,
        gained,
        cost: if costs.is_empty() { "nothing".to_owned() } else { costs.join(", ") },
    }
}

fn loops(applied: &AppliedLoops, unit: Unit) -> impl Iterator<Item = Change> + '_ {
    applied.windows.iter().map(move |one| {
        let ends = short_names(&[&one.ends[0], &one.ends[1]], ROOM);
        let rows = if one.step == 1 { "one row".to_owned() } else { format!("{} rows", one.step) };
        let shared = match (one.carries, one.extra_macs) {
            (true, _) => "rows that stripes share are carried on",
            (false, 0) => "nothing is computed twice",
            (false, _) => "rows that stripes share are computed again",
        };
        let share = 100.0 * one.extra_macs as f64 / applied.macs.max(1) as f64;
        Change {
            kind: "loop".to_owned(),
            text: format!(
                "{} ops from {} to {} run {rows} at a time, {} times; {shared}",
                one.ops.len(),
                quoted(&ends[0]),
                quoted(&ends[1]),
                grouped(one.iterations.into())
            ),
            gain: None,
            gained: "the tensors between them never exist as a whole".to_owned(),
            cost: format!("{share:.1} % more MACs, {} copied in each run", unit.size(one.copied)),
        }
    })
}

/// The gain of the order alone, and of the offsets on top; known if the operators are unchanged.
fn order_and_places(plan: &Plan, after: &Ground) -> Vec<Change> {
    let is_as_it_came = plan.counts_everything()
        && plan.keeps_operators()
        && plan.loops.is_none()
        && !matches!(plan.session, Some(Ok(_)))
        && plan.int8_io.as_ref().is_none_or(QuantizedIo::is_unchanged);
    let graphs: Vec<_> = after.graphs.iter().collect();
    let orders: Vec<_> = after.orders.iter().map(Vec::as_slice).collect();
    let by_itself = after.model.without_plan().arena(&graphs, &orders, None).map(|arena| arena.bytes);
    let moved = plan.order.iter().enumerate().filter(|(at, op)| op.index() != *at).count();
    let gained = |gain: Option<u64>| match gain.filter(|_| is_as_it_came) {
        Some(0) => "nothing alone".to_owned(),
        Some(gain) => format!("{} bytes", grouped(gain.into())),
        None => "not measured alone".to_owned(),
    };
    let mut changes = Vec::new();
    if plan.reorders() && plan.loops.is_none() {
        let with_order = if plan.offsets.is_some() { by_itself } else { Some(plan.after.needs()) };
        let gain = with_order.map(|bytes| plan.before.needs().saturating_sub(bytes));
        changes.push(Change {
            kind: "order".to_owned(),
            text: format!(
                "{} of {} ops run at another time",
                grouped(moved as u128),
                grouped(plan.order.len() as u128)
            ),
            gain: gain.filter(|_| is_as_it_came),
            gained: gained(gain),
            cost: "nothing".to_owned(),
        });
    }
    if plan.offsets.is_some() {
        let before = if plan.reorders() { by_itself } else { Some(plan.before.needs()) };
        let gain = before.map(|bytes| bytes.saturating_sub(plan.after.needs()));
        changes.push(Change {
            kind: "places".to_owned(),
            text: "a plan of the arena is written into the model, which a stock TFLM obeys: no gaps that can be avoided, and outputs over inputs where the kernels allow it".to_owned(),
            gain: gain.filter(|_| is_as_it_came),
            gained: gained(gain),
            cost: "4 bytes of the file a tensor".to_owned(),
        });
    }
    changes
}
