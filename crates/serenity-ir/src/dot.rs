//! Graphviz output.

use crate::{Graph, TensorId};
use std::fmt::Write;

/// The graph in Graphviz DOT: ops as boxes, tensors as edges labelled with their size.
///
/// ```
/// # use serenity_ir::{GraphBuilder, Tensor};
/// # let mut b = GraphBuilder::new("tiny");
/// # let x = b.input(Tensor::sized("x", 100));
/// # let y = b.op("f", "RELU", &[x], Tensor::sized("y", 100));
/// # b.output(y);
/// let dot = serenity_ir::to_dot(&b.build().unwrap());
/// assert!(dot.contains(r#"op0 [label="f\nRELU"]"#));
/// ```
pub fn to_dot(graph: &Graph) -> String {
    let mut dot = String::new();
    // Writing to a String cannot fail.
    let _ = write_dot(graph, &mut dot);
    dot
}

fn write_dot(graph: &Graph, dot: &mut String) -> std::fmt::Result {
    writeln!(dot, "digraph \"{}\" {{", escape(graph.name()))?;
    writeln!(dot, "  node [shape=box, style=rounded, fontname=\"Helvetica\"];")?;
    writeln!(dot, "  edge [fontname=\"Helvetica\", fontsize=9];")?;
    for &t in graph.inputs() {
        writeln!(dot, "  in{t} [label=\"{}\", shape=ellipse];", escape(&graph.tensor_label(t)))?;
    }
    for op in graph.op_ids() {
        let (label, kind) = (escape(&graph.op_label(op)), escape(graph.op(op).kind.as_str()));
        writeln!(dot, "  op{op} [label=\"{label}\\n{kind}\"];")?;
    }
    for &t in graph.outputs() {
        writeln!(dot, "  out{t} [label=\"{}\", shape=ellipse];", escape(&graph.tensor_label(t)))?;
    }
    let source = |t: TensorId| graph.producer(t).map_or_else(|| format!("in{t}"), |op| format!("op{op}"));
    for t in graph.tensor_ids() {
        let size = describe(graph, t);
        for reader in graph.consumers(t) {
            writeln!(dot, "  {} -> op{reader} [label=\"{size}\"];", source(t))?;
        }
    }
    for &t in graph.outputs() {
        writeln!(dot, "  {} -> out{t} [label=\"{}\"];", source(t), describe(graph, t))?;
    }
    writeln!(dot, "}}")
}

fn describe(graph: &Graph, t: TensorId) -> String {
    let tensor = graph.tensor(t);
    match &tensor.shape {
        Some(shape) => {
            let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
            format!("{}\\n{} B", dims.join("x"), tensor.bytes)
        }
        None => format!("{} B", tensor.bytes),
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use crate::{GraphBuilder, Tensor, to_dot};

    #[test]
    fn names_cannot_break_out_of_their_quotes() {
        let mut b = GraphBuilder::new("a\"b");
        let y = b.op("x\"]; evil", "K\\", &[], Tensor::sized("y", 1));
        b.output(y);
        let dot = to_dot(&b.build().unwrap());
        assert!(dot.contains(r#"digraph "a\"b""#));
        assert!(dot.contains(r#"op0 [label="x\"]; evil\nK\\"];"#));
        assert!(dot.contains("op0 -> out0"));
    }
}
