//! A format that the pipeline has never heard of: what it does not know by the trait, it does not know.

use serenity::formats::{FileError, ModelFile, PlanNote};
use serenity::ir::{Graph, GraphBuilder, OpId, Tensor};
use serenity::rewrite::{Patch, Rewriting, Settings};
use serenity::runtimes::{MemoryModel, Offsets};
use serenity::{Format, Input, Options, optimize};
use std::borrow::Cow;
use std::sync::Arc;

/// The names of ops, one per line.
#[derive(Debug)]
struct Lines(Graph);

impl ModelFile for Lines {
    fn format(&self) -> Format {
        Format::Json
    }

    fn bytes(&self) -> Cow<'_, [u8]> {
        Cow::Owned(lines(&self.0, &self.0.file_order()))
    }

    fn graphs(&self) -> &[Graph] {
        std::slice::from_ref(&self.0)
    }

    fn retain_possible(&self, _: &Settings, patches: &mut Vec<Patch>) {
        patches.clear();
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
        Ok(lines(&self.0, orders[0]))
    }
}

fn lines(graph: &Graph, order: &[OpId]) -> Vec<u8> {
    order.iter().flat_map(|&op| [graph.op(op).name.as_bytes(), b"\n"].concat()).collect()
}

#[test]
fn a_file_of_another_format_is_planned_and_written() {
    let mut builder = GraphBuilder::new("two branches");
    let x = builder.input(Tensor::sized("x", 10));
    let wide = builder.op("wide", "RELU", &[x], Tensor::sized("wide", 100));
    let other = builder.op("other", "RELU", &[x], Tensor::sized("other", 100));
    let a = builder.op("narrow", "MEAN", &[wide], Tensor::sized("a", 1));
    let b = builder.op("thin", "MEAN", &[other], Tensor::sized("b", 1));
    let sum = builder.op("sum", "ADD", &[a, b], Tensor::sized("sum", 1));
    builder.output(sum);
    let file = Lines(builder.build().unwrap());
    assert_eq!(file.bytes().as_ref(), b"wide\nother\nnarrow\nthin\nsum\n");

    let input = Input { name: "a.lines".to_owned(), default_model: MemoryModel::Plain, file: Arc::new(file) };
    let best = optimize(&input, &Options::for_input(&input)).unwrap();
    assert_eq!((best.plan.before.peak, best.plan.after.peak), (210, 111));
    let written = String::from_utf8(best.to_bytes().unwrap()).unwrap();
    assert!(
        ["wide\nnarrow\nother\nthin\nsum\n", "other\nthin\nwide\nnarrow\nsum\n"].contains(&written.as_str())
    );
}
