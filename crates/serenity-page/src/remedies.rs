//! What else would lower the memory of a model: the list of `serenity-fit`, the ways that fit first.

use super::PageOptions;
use serenity::boards::boards;
use serenity::pipeline::{Need, estimate_loops};
use serenity::{Input, Loops, Optimized, Options};
use serenity_fit::{Change, Fit, Made, Question, Row, fit};
use serenity_formats::Format;
use serenity_report::page::{Remedy, Unit};
use std::fmt::Write;
use std::sync::Arc;

/// Suggestions that are worth a line. Without a budget, only those that take no search.
pub(super) fn remedies(
    input: &Input,
    found: &Optimized,
    options: &Options,
    asked: &PageOptions,
) -> Vec<Remedy> {
    let need = Need::of(&found.model, &found.plan);
    let Some(budget) = asked.budget else { return hints(input, found, options, asked) };
    if found.plan.fits(need, budget) {
        return Vec::new();
    }
    let unit = asked.unit();
    let ways = asked.ways.clone().or_else(|| ways(input, options, asked, budget));
    let Some(ways) = ways else { return Vec::new() };
    let smaller = ways.rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
    let smaller = smaller.filter(|(_, made)| made.command.is_some() && made.need.bytes < need.bytes);
    let mut remedies: Vec<Remedy> = smaller.map(|(row, made)| remedy(row, made, ways.macs, unit)).collect();
    remedies.sort_by_key(|remedy| remedy.fits == Some(false));
    remedies.extend(ways.advice.iter().map(|text| Remedy { text: text.clone(), ..Remedy::default() }));
    remedies.extend(board(found, need, unit));
    remedies
}

/// All ways to make the model fit; `None` if it cannot be planned without the changes that were asked for.
fn ways(input: &Input, options: &Options, asked: &PageOptions, budget: u64) -> Option<Arc<Fit>> {
    let question = Question {
        budget,
        budget_typed: asked.budget_typed.clone(),
        typed: asked.typed.clone(),
        allowed: Change::allowed(&[], &[]),
        names_kernels: false,
        name: None,
        hop: None,
    };
    let options = Options { int8_io: false, plan_arena: true, ..options.clone() };
    fit(input, &options, &question).ok().map(Arc::new)
}

fn remedy(row: &Row, made: &Made, macs: u64, unit: Unit) -> Remedy {
    let mut text = format!("{}: {}", row.way, unit.size(made.need.to_be_safe()));
    let share = 100.0 * made.extra_macs as f64 / macs.max(1) as f64;
    if share.abs() >= 0.05 {
        let _ = write!(text, ", {share:+.1} % MACs");
    }
    if let Some(more) = made.extra_time.filter(|more| more.abs() >= 0.005) {
        let _ = write!(text, ", about {:+.0} % time", 100.0 * more);
    }
    text.push('.');
    for ask in &made.asks {
        let _ = write!(text, " The application must {ask}.");
    }
    Remedy { text, command: made.command.clone(), needs: Some(made.need.bytes), fits: Some(made.fits) }
}

/// Loops if they are estimated to save something, and the table of all ways.
fn hints(input: &Input, found: &Optimized, options: &Options, asked: &PageOptions) -> Vec<Remedy> {
    if input.file.format() != Format::TfLite || found.plan.loops.is_some() {
        return Vec::new();
    }
    let needs = found.plan.after.needs();
    let estimate = estimate_loops(found, Loops::default(), options);
    let estimate = estimate.filter(|estimate| estimate.arena < needs / 20 * 19);
    let loops = estimate.map(|estimate| Remedy {
        text: format!(
            "loops: about {} of activations, {:+.1} % MACs, outputs the same bit for bit.",
            Unit::Decimal.size(estimate.arena),
            100.0 * estimate.extra_macs
        ),
        command: Some(format!("serenity optimize {} --loops", asked.typed)),
        ..Remedy::default()
    });
    let all = Remedy {
        text: "All ways to make it fit a device, and what each asks of the application.".to_owned(),
        command: Some(format!("serenity fit {} --budget 64KiB", asked.typed)),
        ..Remedy::default()
    };
    loops.into_iter().chain([all]).collect()
}

fn board(found: &Optimized, need: Need, unit: Unit) -> Option<Remedy> {
    // Only for TFLM is it known what a board must have.
    found.model.tail(found.plan.model)?;
    let board = boards().into_iter().find(|board| board.ram >= need.to_be_safe())?;
    let text = format!(
        "A larger device: the smallest known board that holds it as it is planned here is {} ({}, {}).",
        board.name,
        board.chip,
        unit.size(board.ram)
    );
    Some(Remedy { text, ..Remedy::default() })
}
