//! Makes the best file for a default session of ONNX Runtime.
//!
//! A default session optimises a model when it loads it, then runs the result in an order of its own and holds buffers
//! for later tensors of the same shape. So we let the user's own runtime optimise the model beforehand, order the
//! result, and run it with optimisation off, in file order, with no buffer held. The nodes are those of a default
//! session, so it is as fast; and no order holds less than its live tensors, so it never needs more. Rewriting, if
//! asked for, comes first, because the rules do not know fused nodes; the best of all ways is taken.

use super::offline::{self, NoFast, Offline};
use crate::optimize::best_rewritten;
use crate::{
    Error, Footprint, Input, Optimized, Options, Plan, Rewrites, plan_graphs, possible_rewrites, rewrite,
};
use serenity_formats::Format;
use serenity_ir::OpId;
use serenity_runtimes::{MemoryModel, OrtOrder, OrtSession, OrtSetup};
use std::path::{Path, PathBuf};

/// How to make a file that the user's own ONNX Runtime has optimised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fast {
    /// The Python that has ONNX Runtime; if `None`, the first one found, as for `verify`.
    pub python: Option<PathBuf>,
    /// Is it an error if there is no ONNX Runtime, or if it refuses the model? Otherwise the model is only ordered, and
    /// the result says why.
    pub is_required: bool,
    /// Which rewrites may be made before ONNX Runtime optimises the model. No rewrite keeps every bit in its fused and
    /// blocked kernels, so `None` and `Exact` make none, and the outputs are those of a default session.
    pub rewrites: Rewrites,
}

impl Default for Fast {
    fn default() -> Self {
        Self { python: None, is_required: false, rewrites: Rewrites::None }
    }
}

/// How ONNX Runtime optimised a model before it was ordered.
#[derive(Clone, Debug)]
pub struct FastSession {
    /// The version of ONNX Runtime that optimised it. The file is for this version and this kind of machine.
    pub version: String,
    /// The bytes that a default session requests in its first run, as measured, or why they could not be measured. If
    /// not measured, or if the plan does not count everything as the measurement does, `before` is a prediction.
    pub measured: Result<u64, String>,
    /// The number of nodes of the original model.
    pub nodes: usize,
    /// Rewrites made before the optimisation, in words; with any, outputs are the same up to rounding. The plan is for
    /// the file as written, so it lists none.
    pub rewrites: Vec<String>,
}

/// Can ONNX Runtime optimise this model first? It must be an `.onnx` file that was not optimised yet, for a session in
/// file order.
pub(crate) fn is_for(input: &Input, options: &Options) -> bool {
    let follows = options.model.ort().is_some_and(|setup| setup.order == OrtOrder::Priority);
    follows && input.file.format() == Format::Onnx && input.file.session().is_none()
}

/// One way to make the file.
struct Way {
    model: Input,
    offline: Offline,
    plan: Plan,
    rewrites: Vec<String>,
}

/// Makes the file that the user's own ONNX Runtime has optimised, and orders it.
///
/// # Errors
/// The inner error if ONNX Runtime could not be used; the outer error as for [`optimize`](crate::optimize).
pub(crate) fn fast(input: &Input, how: &Fast, options: &Options) -> Result<Result<Optimized, NoFast>, Error> {
    let lean = &Options {
        model: MemoryModel::Ort(OrtSetup::LEAN),
        rewrites: Rewrites::None,
        fast: None,
        ..options.clone()
    };
    options.tell("asking ONNX Runtime to optimise it");
    let as_it_is = match offline(input, how, lean) {
        Ok(offline) => Way::of(input, offline, Vec::new(), lean)?,
        Err(why) => return Ok(Err(why)),
    };
    let default = default_session(&as_it_is);
    let nodes = input.graph().ops().len();
    let measured = as_it_is.offline.measured.clone().map(|(bytes, _)| bytes);
    let best = match rewritten(input, how, lean)? {
        Some(other) if other.plan.after.needs() < as_it_is.plan.after.needs() => other,
        _ => as_it_is,
    };
    let file = best.model.file.for_session(best.plan.file_order(), OrtSetup::LEAN, &best.made_by());
    let file = file.map_err(|source| Error::File { path: input.name.clone(), source })?;
    let model = input.with_file(file);
    let mut plan = plan_graphs(model.graphs(), lean)?;
    plan.before = default;
    plan.session =
        Some(Ok(FastSession { version: best.offline.version, measured, nodes, rewrites: best.rewrites }));
    Ok(Ok(Optimized::new(model, plan)))
}

impl Way {
    fn of(input: &Input, offline: Offline, rewrites: Vec<String>, options: &Options) -> Result<Self, Error> {
        let file = input.file.optimized(offline.bytes.clone());
        let file = file.map_err(|source| Error::File { path: input.name.clone(), source })?;
        let model = input.with_file(file);
        let plan = plan_graphs(model.graphs(), options)?;
        Ok(Self { model, offline, plan, rewrites })
    }

    fn made_by(&self) -> String {
        format!("serenity {}, onnxruntime {}", env!("CARGO_PKG_VERSION"), self.offline.version)
    }
}

fn offline(input: &Input, how: &Fast, options: &Options) -> Result<Offline, NoFast> {
    // A model that keeps its constants in other files finds them only from its own path.
    let lies = (!input.file.side_files().is_empty()).then(|| Path::new(&input.name));
    offline::optimize(
        &input.file.bytes(),
        lies,
        &input.file.given_shapes(),
        how.python.as_deref(),
        &options.limits,
    )
}

/// Makes the file with rewrites before the optimisation: once with those that are best for the original model, once
/// with as many as go together, because it is not known in advance what is best for nodes that will be fused. Returns
/// the better of both, if any.
fn rewritten(input: &Input, how: &Fast, options: &Options) -> Result<Option<Way>, Error> {
    // A rewritten model has no path from which to find constants in other files.
    if matches!(how.rewrites, Rewrites::None | Rewrites::Channels | Rewrites::Exact)
        || !input.file.side_files().is_empty()
    {
        return Ok(None);
    }
    let options = &Options { rewrites: how.rewrites, ..options.clone() };
    let mut best: Option<Way> = None;
    for (model, rewrites) in [chosen(input, options)?, all_together(input, options)].into_iter().flatten() {
        // If ONNX Runtime refuses the rewritten model, this way is not taken.
        let Ok(offline) = offline(&model, how, options) else { continue };
        let way = Way::of(&model, offline, rewrites, options)?;
        if best.as_ref().is_none_or(|best| way.plan.after.needs() < best.plan.after.needs()) {
            best = Some(way);
        }
    }
    Ok(best)
}

fn chosen(input: &Input, options: &Options) -> Result<Option<(Input, Vec<String>)>, Error> {
    let Optimized { model, plan, .. } = best_rewritten(input, options)?;
    let texts: Vec<String> =
        plan.rewrites.iter().map(|rewrite| format!("{}: {}", rewrite.rule, rewrite.text)).collect();
    Ok((!texts.is_empty()).then_some((model, texts)))
}

/// Every patch that can be made together with those before it.
fn all_together(input: &Input, options: &Options) -> Option<(Input, Vec<String>)> {
    let mut made: Option<Input> = None;
    let mut together = Vec::new();
    for patch in possible_rewrites(input, options.model, options.rewrites) {
        if options.limits.are_over() {
            break;
        }
        together.push(patch);
        match rewrite(input, &together, options.model) {
            Ok(model) => made = Some(model),
            Err(_) => drop(together.pop()),
        }
    }
    let texts = together.iter().map(|patch| format!("{}: {}", patch.rule, patch.identity)).collect();
    Some((made?, texts))
}

/// What a default session requests: as measured, or else as predicted for the optimised model. A measurement counts
/// everything, so it is not compared with predictions that do not.
fn default_session(way: &Way) -> Footprint {
    if let Ok((bytes, ops)) = way.offline.measured
        && way.plan.counts_everything()
    {
        return Footprint { peak: bytes, arena: Some(bytes), ops };
    }
    let graph = way.model.graph();
    let setup = OrtSetup { order: OrtOrder::Default, reuse: true };
    let file: Vec<OpId> = graph.file_order();
    let run = OrtSession::new(graph, setup).run(&file);
    Footprint { peak: run.requested, arena: Some(run.requested), ops: graph.ops().len() }
}
