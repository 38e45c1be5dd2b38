//! [`optimize`], the entry point of the pipeline.

use crate::attempt::Attempt;
use crate::session::Session;
use crate::stages::channels::with_fewer_channels;
use crate::stages::ort::{fast, is_for};
use crate::stages::place::as_it_came;
use crate::variant::{Channels, Variant, variants};
use crate::{Error, Input, Options, Plan, Rewrites, planned_model};
use serenity_schedule::Memo;
use serenity_search::{Progress, ProgressFn};
use std::sync::{Arc, Mutex, PoisonError};

/// A model after [`optimize`].
#[derive(Clone, Debug)]
pub struct Optimized {
    /// The model that the plan is for. It differs from the input if the plan lists rewrites, loops or other changes.
    pub model: Input,
    /// The decisions, the memory that they need, and what is proved about them.
    pub plan: Plan,
    /// Every variant that was tried, in the order of [`variants`](crate::variants). Empty if ONNX Runtime optimised the
    /// model first.
    pub attempts: Vec<Attempt>,
}

impl Optimized {
    /// A planned model without a record of attempts.
    pub fn new(model: Input, plan: Plan) -> Self {
        Self { model, plan, attempts: Vec::new() }
    }

    /// The bytes of the optimised file, in the format of the input.
    ///
    /// # Errors
    /// If the input was a graph without a file, or if the file holds something that cannot be kept.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        planned_model(&self.model, &self.plan)
    }
}

/// Rewrites a model, orders its operators and places its tensors so that it needs the least memory. Where nothing is
/// better than the input, the model stays as it is.
///
/// ```
/// use serenity::{Format, Options, export, load, optimize};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.tflite");
/// let model = export("swiftnet-c", Format::TfLite, serenity::zoo::Precision::Float32)?;
/// std::fs::write(&path, model.bytes)?;
///
/// let input = load(path.to_str().unwrap_or_default())?;
/// let best = optimize(&input, &Options::for_input(&input))?;
/// // What TensorFlow Lite Micro needs for activations, before and after.
/// assert_eq!((best.plan.before.arena, best.plan.after.arena), (Some(194_432), Some(75_264)));
/// std::fs::write(&path, best.to_bytes()?)?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// If the model [cannot be counted](Input::can_be_counted), or if it is [asked](Options::int8_io) to change and cannot
/// without loss; other changes are then left out. A result that fails its own check, or a rewrite that goes wrong, is
/// an error too, and a bug.
pub fn optimize(input: &Input, options: &Options) -> Result<Optimized, Error> {
    input.can_be_counted(options.model)?;
    let Some(how) = options.fast.as_ref().filter(|_| is_for(input, options)) else {
        return as_it_stands(input, options);
    };
    match fast(input, how, options)? {
        Ok(found) => {
            let again = |model: &Input, options: &Options| {
                let found = fast(model, how, options)?;
                found.map_err(|source| Error::NoFast { path: input.name.clone(), source })
            };
            // Fused kernels sum integers as all other kernels do, but floats in an order of their own.
            let rewrites = match (options.rewrites, how.rewrites) {
                (Rewrites::None, _) => Rewrites::None,
                (_, Rewrites::All | Rewrites::Approximate) => Rewrites::All,
                _ => Rewrites::Channels,
            };
            with_fewer_channels(found, input, &Options { rewrites, ..options.clone() }, &again)
        }
        Err(why) if how.is_required => Err(Error::NoFast { path: input.name.clone(), source: why }),
        Err(why) => {
            let mut found = as_it_stands(input, options)?;
            found.plan.session = Some(Err(why));
            Ok(found)
        }
    }
}

/// The best without loops and the best of all, as two calls of [`optimize`] give them, in little more than the time of
/// the second. The first does not know the budget of the loops.
///
/// # Errors
/// As for [`optimize`].
pub fn optimize_without_and_with_loops(input: &Input, options: &Options) -> Result<[Optimized; 2], Error> {
    input.can_be_counted(options.model)?;
    best_variants(input, options, |session| [session.best_without_loops(), session.best_of_all()])
}

/// Plans a model without asking ONNX Runtime to optimise it first.
fn as_it_stands(input: &Input, options: &Options) -> Result<Optimized, Error> {
    best_variants(input, options, |session| [session.best_of_all()]).map(|[best]| best)
}

/// Tries every variant of a model, with the inputs and outputs that are asked for, and chooses among them.
fn best_variants<const N: usize>(
    input: &Input,
    options: &Options,
    choose: impl Fn(&Session) -> [Optimized; N],
) -> Result<[Optimized; N], Error> {
    if !options.int8_io {
        return with_these_inputs(input, options, choose);
    }
    let (model, io) = input.with_quantized_io()?;
    // The memory plan stored in the model is for its original inputs and outputs.
    let given_plan = options.given_plan.clone().filter(|_| io.is_unchanged());
    let all = with_these_inputs(&model, &Options { given_plan, ..options.clone() }, choose)?;
    Ok(all.map(|mut found| {
        if !io.is_unchanged() {
            found.plan.before = as_it_came(input.graphs(), options);
        }
        found.plan.int8_io = Some(io.clone());
        found
    }))
}

/// Tries every variant of a model with its inputs and outputs as they are, and chooses among them.
fn with_these_inputs<T>(
    input: &Input,
    options: &Options,
    choose: impl Fn(&Session) -> T,
) -> Result<T, Error> {
    let stage = Stage::default();
    let options = &Options { progress: stage.named(options), ..from_nothing(options) };
    let mut session = Session::new(input, options);
    for variant in variants(input, options) {
        stage.begin(variant);
        session.attempt(variant)?;
    }
    Ok(choose(&session))
}

/// The stage that is going on, for progress.
#[derive(Clone, Default)]
struct Stage(Arc<Mutex<&'static str>>);

impl Stage {
    fn begin(&self, variant: Variant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = variant.stage();
    }

    /// Reports progress with the name of the stage.
    fn named(&self, options: &Options) -> Option<ProgressFn> {
        let (outer, current) = (options.progress.clone()?, self.clone());
        Some(Arc::new(move |progress| {
            let stage = *current.0.lock().unwrap_or_else(PoisonError::into_inner);
            outer(&Progress { stage, ..*progress });
        }))
    }
}

/// These options with nothing remembered: what was asked before must not decide between equal orders.
fn from_nothing(options: &Options) -> Options {
    Options { memo: Memo::default(), ..options.clone() }
}

/// Tries the variants of a model that keep all channels and have no loops, so that only rewriting is at work.
///
/// # Errors
/// As for [`optimize`].
pub fn best_rewritten(input: &Input, options: &Options) -> Result<Optimized, Error> {
    let options = &Options { loops: None, ..from_nothing(options) };
    let mut session = Session::new(input, options);
    for variant in variants(input, options).into_iter().filter(|one| one.channels == Channels::All) {
        session.attempt(variant)?;
    }
    Ok(session.best_of_all())
}
