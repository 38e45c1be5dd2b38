//! Windows of a planned model as loops.

use crate::rewrite::whole_need;
use crate::{Error, Footprint, Input, Optimized, Options, Plan};
use serenity_formats::{FileError, Problem};
use serenity_ir::{Graph, OpId};
use serenity_loops::{Choice, Summary, Windows};
use serenity_runtimes::{Kernels, TflmFacts, main_graph, plan_arena};
use serenity_search::{Limits, Proof, StopReason};

/// Whether windows of operators may become loops over a few rows at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loops {
    /// How many multiplications more they may take, as a share of those that there are.
    pub most_extra_macs: f64,
}

impl Default for Loops {
    /// A tenth more multiplications.
    fn default() -> Self {
        Self { most_extra_macs: 0.1 }
    }
}

/// The loops of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedLoops {
    /// The order of the model before, in which its windows are.
    pub order: Vec<OpId>,
    /// Each of them.
    pub loops: Vec<Summary>,
    /// Multiplications of the row-local operators before.
    pub macs: u64,
    /// Multiplications that the loops add.
    pub extra_macs: u64,
}

/// The same model with its widest parts as loops, if it then needs less; otherwise as it is.
pub(crate) fn with_loops(found: Optimized, loops: Loops, options: &Options) -> Result<Optimized, Error> {
    let Some(kernels) = options.model.kernels().filter(|_| options.plan_arena) else { return Ok(found) };
    let is_over = || options.limits.are_over();
    let Some(windows) = Windows::new(found.model.graphs(), &found.plan.order, kernels, u64::MAX, is_over)
    else {
        return Ok(found);
    };
    let most = (windows.macs() as f64 * loops.most_extra_macs) as u64;
    let mut choices = windows.choices(most);
    // The least memory in use comes first, then what a device needs in all.
    let lowest: Vec<Choice> = choices.iter().take(1).cloned().collect();
    choices.sort_by_key(|choice| choice.bytes + choice.tail);
    choices.truncate(MOST_PLANNED);
    let mut best = found.clone();
    for choice in lowest.iter().chain(&choices) {
        if let Some(looped) = planned(&found, &windows, choice, kernels, options)?
            && {
                eprintln!(
                    "est {} tail {} macs {:.3} -> {} total {} {:?} {:?}",
                    choice.bytes,
                    choice.tail,
                    choice.extra_macs as f64 / windows.macs() as f64,
                    looped.plan.after.needs(),
                    whole_need(&looped.model, &looped.plan),
                    looped.plan.places,
                    windows
                        .summary(choice)
                        .iter()
                        .map(|s| format!(
                            "{}{}@{}x{}",
                            if s.carries { "L" } else { "H" },
                            s.ops.len(),
                            found.plan.order.iter().position(|o| *o == s.ops[0]).unwrap(),
                            s.iterations
                        ))
                        .collect::<Vec<_>>()
                );
                true
            }
            && whole_need(&looped.model, &looped.plan) < whole_need(&best.model, &best.plan)
        {
            best = looped;
        }
    }
    Ok(best)
}

/// Choices that are planned to the end.
const MOST_PLANNED: usize = 4;

fn planned(
    found: &Optimized,
    windows: &Windows,
    choice: &Choice,
    kernels: Kernels,
    options: &Options,
) -> Result<Option<Optimized>, Error> {
    let Some(looped) = windows.looped(choice) else { return Ok(None) };
    let model = match found.model.file.looped(&looped) {
        Ok(file) => found.model.with_file(file),
        Err(FileError { problem: Problem::CannotKeep, .. }) => return Ok(None),
        Err(source) => return Err(Error::File { path: found.model.name.clone(), source }),
    };
    let loops = AppliedLoops {
        order: found.plan.order.clone(),
        loops: windows.summary(choice),
        macs: windows.macs(),
        extra_macs: choice.extra_macs,
    };
    let plan = place(&model, found.plan.clone(), kernels, options);
    Ok(plan.map(|plan| Optimized { model, plan: Plan { loops: Some(loops), ..plan } }))
}

/// The plan of a model with loops, in its own order.
fn place(model: &Input, plan: Plan, kernels: Kernels, options: &Options) -> Option<Plan> {
    let graphs = model.graphs();
    let orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let given: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let limits = Limits { work: None, ..options.limits.clone() };
    let limits = limits.working(options.effort.placement());
    let facts = TflmFacts::new(&graphs.iter().collect::<Vec<_>>(), kernels);
    let planned = plan_arena(&facts, &given, limits)?;
    let mut orders = orders.into_iter();
    let order = orders.next()?;
    let bodies: Vec<Vec<OpId>> = orders.collect();
    let main = main_graph(graphs, &bodies, plan.model.with_plan());
    let peak = plan.model.with_plan().lifetimes(&main).profile(&order).peak();
    Some(Plan {
        model: plan.model.with_plan(),
        after: Footprint { peak, arena: Some(planned.arena.bytes), ops: graphs[0].ops().len() },
        places: Some(Proof::of(planned.arena.bytes, planned.bound, planned.stopped)),
        offsets: Some(planned.offsets),
        order,
        bodies,
        steering: None,
        bound: 0,
        arena_bound: None,
        proof: Proof::Gap { stopped: StopReason::Heuristic },
        witness: None,
        unknown: main.unknown().to_vec(),
        ..plan
    })
}
