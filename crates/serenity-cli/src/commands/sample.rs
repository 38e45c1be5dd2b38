//! `serenity sample`: how good is a random order?

use super::{limits, title, verdict};
use crate::args::SampleArgs;
use crate::progress::{cancel_on_ctrl_c, thousands};
use crate::size::Size;
use crate::{Failure, Outcome};
use serde_json::{Map, Value, json};
use serenity::scheduling::distribution::{self, CountError, Distribution};
use serenity::{Options, Plan};
use std::io::Write;

const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// What was measured.
struct Sampled {
    peaks: Distribution,
    measure: &'static str,
    best: Plan,
}

pub(crate) fn run(args: &SampleArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if args.count == 0 && !args.exact {
        return Err(Failure::request(
            "there is nothing to draw: --count is 0",
            "give a positive --count, or --exact",
        ));
    }
    let input = serenity::load(&args.input)?;
    let model = args.runtime.runtime.unwrap_or(input.default_model);
    let limits = limits(&args.limits, &cancel_on_ctrl_c());
    let problem = serenity::problem(&input.graph, &model.lifetimes(&input.graph));
    let (peaks, measure) = if args.exact {
        let peaks =
            distribution::count(&problem, &limits, None).map_err(|error| too_many(&args.input, error))?;
        (peaks, "every order counts the same")
    } else {
        let (peaks, stopped) = distribution::sample(&problem, args.count, args.seed, &limits, None);
        if let Some(reason) = stopped
            && peaks.total() == 0
        {
            return Err(Failure::request(format!("no order was drawn: {reason}"), "give more time"));
        }
        (peaks, "uniform among the ops that can run next")
    };
    let best = serenity::optimize(&input.graph, &Options { model, limits, ..Options::default() })?;
    let sampled = Sampled { peaks, measure, best };
    if args.json.json {
        writeln!(out, "{}", to_json(args, &sampled))?;
    } else {
        writeln!(out, "{}, memory model `{model}`\n", title(&input.graph, &args.input))?;
        print(args, &sampled, out)?;
    }
    Ok(Outcome::Done)
}

fn too_many(input: &str, error: CountError) -> Failure {
    Failure::request(
        format!("`{input}`: the orders cannot be counted: {error}"),
        "leave out --exact to draw random orders, or raise --memory-limit or --time-limit",
    )
}

/// A JSON number where it is exact, a text where it is not.
fn integer(number: u128) -> Value {
    u64::try_from(number).map_or_else(|_| number.to_string().into(), Value::from)
}

fn to_json(args: &SampleArgs, sampled: &Sampled) -> Value {
    let Sampled { peaks, measure, best } = sampled;
    let quantiles: Map<String, Value> =
        QUANTILES.iter().map(|&q| (q.to_string(), peaks.quantile(q).into())).collect();
    json!({
        "graph": best.graph,
        "runtime": best.model.to_string(),
        "count": integer(peaks.total()),
        "exact": args.exact,
        "measure": measure,
        "seed": (!args.exact).then_some(args.seed),
        "quantiles": quantiles,
        "distribution": peaks.peaks().map(|(peak, orders)| json!([peak, integer(orders)])).collect::<Vec<_>>(),
        "optimum": best.after.peak,
        "proof": if best.is_optimal() { "optimal" } else { "gap" },
        "share_optimal": peaks.share_within(best.after.peak),
        "budget": args.budget.map(|budget| budget.0),
        "share_within_budget": args.budget.map(|budget| peaks.share_within(budget.0)),
    })
}

fn print(args: &SampleArgs, sampled: &Sampled, out: &mut impl Write) -> Result<(), Failure> {
    let Sampled { peaks, measure, best } = sampled;
    let total = u64::try_from(peaks.total()).map_or_else(|_| peaks.total().to_string(), thousands);
    let what = if args.exact { format!("all {total} orders") } else { format!("{total} random orders") };
    writeln!(out, "{what}, {measure}\n")?;
    writeln!(out, "  share of orders that peak at or below")?;
    for q in QUANTILES {
        let peak = peaks.quantile(q).unwrap_or(0);
        let share = peaks.share_within(peak);
        let bar = "█".repeat((share * 40.0).round() as usize);
        writeln!(out, "  {:>12}  {:>9.4} %  {bar}", Size(peak), share * 100.0)?;
    }
    writeln!(out)?;
    if let Some(budget) = args.budget {
        let share = peaks.share_within(budget.0) * 100.0;
        writeln!(out, "  within {budget}: {share:.4} % of the orders")?;
    }
    let share = peaks.share_within(best.after.peak) * 100.0;
    writeln!(
        out,
        "  best order {} ({}): {share:.4} % of the orders reach it",
        Size(best.after.peak),
        verdict(best)
    )?;
    Ok(())
}
