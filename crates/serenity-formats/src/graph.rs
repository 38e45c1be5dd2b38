//! A graph and nothing else: our own format, and what was made in memory.

use crate::{FileError, Format, ModelFile, PlanNote, Problem};
use serenity_ir::json::{self, JsonError};
use serenity_ir::{Graph, OpId};
use serenity_rewrite::{Patch, Rewriting, Settings, Sums};
use serenity_runtimes::Offsets;
use std::borrow::Cow;
use std::sync::Arc;

/// A graph with no file behind it that could tell more.
#[derive(Debug)]
pub struct GraphFile(Graph);

impl GraphFile {
    /// Parses JSON.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Self, FileError> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let position = error.utf8_error().valid_up_to();
            let source = format!("it is not UTF-8 text (byte {position})");
            refused("is not a JSON graph", Some(format!("byte {position}")), source)
        })?;
        json::parse(&text).map(Self).map_err(|error| {
            let place = match &error {
                JsonError::Field { path, .. } => Some(path.clone()),
                JsonError::Syntax(error) => Some(format!("line {} column {}", error.line(), error.column())),
                _ => None,
            };
            refused("is not a graph", place, error)
        })
    }
}

impl From<Graph> for GraphFile {
    fn from(graph: Graph) -> Self {
        Self(graph)
    }
}

impl ModelFile for GraphFile {
    fn format(&self) -> Format {
        Format::Json
    }

    fn bytes(&self) -> Cow<'_, [u8]> {
        Cow::Owned(json::write(&self.0).into_bytes())
    }

    fn graphs(&self) -> &[Graph] {
        std::slice::from_ref(&self.0)
    }

    fn retain_possible(&self, settings: &Settings, patches: &mut Vec<Patch>) {
        // A graph has no weights, so what partial results would be rounded to is not known; an accumulator rounds once.
        let is_known = |patch: &Patch| {
            let mut results = self.0.op(patch.op()).outputs.iter().map(|&output| self.0.tensor(output));
            patch.exact
                || settings.sums != Sums::Chain
                || results.all(|result| Settings::default().may_round(result))
        };
        patches.retain(is_known);
    }

    fn rewritten(&self, rewriting: &Rewriting) -> Result<Arc<dyn ModelFile>, FileError> {
        Ok(Arc::new(Self(rewriting.graph.clone())))
    }

    fn planned(
        &self,
        orders: &[&[OpId]],
        _: Option<&Offsets>,
        _: Option<&PlanNote>,
    ) -> Result<Vec<u8>, FileError> {
        let order = orders.first().copied().unwrap_or_default();
        let graph = self.0.reordered(order).map_err(|error| refused("cannot be reordered", None, error))?;
        Ok(json::write(&graph).into_bytes())
    }
}

fn refused(
    verdict: &'static str,
    place: Option<String>,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> FileError {
    FileError { problem: Problem::Damaged, place, help: None, verdict, source: source.into() }
}
