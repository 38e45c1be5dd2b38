//! C code for an input that comes as a whole, or row by row.

use crate::run::Run;
use crate::slide::{Slid, slide};
use crate::stream::{Streamed, best_code, stream};
use crate::{Error, Input, Options, optimize};
use serenity_emit::Emitted;
use serenity_loops::streams::Rows;
use serenity_pipeline::macs_of;

/// How the input comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coming {
    /// It lies in memory.
    Whole,
    /// Row by row, from the top.
    Rows,
    /// Row by row without an end; the outputs are wanted anew after every `hop` rows.
    Time {
        /// Rows from one window to the next.
        hop: u64,
        /// Memory within which multiplications are saved.
        budget: Option<u64>,
    },
}

/// The code of a model, and what a run of it costs.
#[derive(Debug)]
pub struct Coded {
    /// The code.
    pub code: Emitted,
    /// Multiplications of a run, or from one window to the next, those of dense layers aside: each run makes all of them.
    pub macs: u64,
    /// How long that takes, by estimate.
    pub run: Run,
    /// Are the results the same bit for bit? Rewrites of floats may change how they are rounded.
    pub is_exact: bool,
}

/// The model as C whose names begin with `prefix`.
///
/// # Errors
/// If the model cannot be planned, emitted, or run as its input comes.
pub fn code_for(input: &Input, options: &Options, coming: Coming, prefix: &str) -> Result<Coded, Error> {
    Ok(match coming {
        Coming::Whole => {
            let found = optimize(input, options)?;
            let (code, macs, run) = best_code(input, &found, options, prefix)?;
            let is_exact = found.plan.rewrites.iter().all(|rewrite| rewrite.exact);
            Coded { code, macs, run, is_exact }
        }
        Coming::Rows => {
            let Streamed { code, macs, run, is_exact, .. } = stream(input, options, Rows::Pushed, prefix)?;
            Coded { code, macs, run, is_exact }
        }
        Coming::Time { hop, budget } => {
            let slid = slide(input, options, hop, budget, prefix)?;
            let Slid { code, run, is_exact, .. } = slid;
            let dense = slid.window_macs.saturating_sub(macs_of(slid.whole.graph()));
            Coded { code, macs: slid.macs - dense, run, is_exact }
        }
    })
}
