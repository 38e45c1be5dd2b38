//! What several of the tests need: built-in networks as files, and all orders of a small graph.

use serenity::ir::{Graph, OpId};
use serenity::pipeline::needs_by_kernels;
use serenity::runtimes::Kernels;
use serenity::zoo::Precision;
use serenity::{Format, Input, Plan, export};
use std::path::{Path, PathBuf};

/// Small enough for seconds, and together they use every operator that the zoo lowers to.
pub(crate) const NETWORKS: &[&str] = &[
    "swiftnet-a",
    "swiftnet-b",
    "swiftnet-c",
    "darts-cell",
    "nasnet-cifar?cells=1&filters=8",
    "amoebanet-cifar?cells=1&filters=8",
    "pnasnet-cifar?cells=1&filters=8",
    "randwire-cifar10?nodes=10",
    "mobilenet?resolution=64",
    "densenet?resolution=32",
    "inception?resolution=32",
];

/// The head that TFLM with its portable kernels needs for a planned model: of a plan for kernels of any kind, that may
/// be less than what it says.
pub(crate) fn portable_head(model: &Input, plan: &Plan) -> Option<u64> {
    let needs = needs_by_kernels(model, plan);
    needs.iter().find(|need| need.kernels == Kernels::Reference).map(|need| need.arena)
}

/// A network with random weights, in a file of `folder` that is called after it.
pub(crate) fn exported(name: &str, format: Format, precision: Precision, folder: &Path) -> PathBuf {
    let stem = name.replace(['?', '=', '&'], "_");
    let suffix = if precision == Precision::Int8 { "_int8" } else { "" };
    let file = folder.join(format!("{stem}{suffix}.{}", format.extensions()[0]));
    std::fs::write(&file, export(name, format, precision).unwrap().bytes).unwrap();
    file
}

/// Calls `visit` with every order in which `graph` can run.
pub(crate) fn every_order(graph: &Graph, visit: &mut impl FnMut(&[OpId])) {
    fn extend(graph: &Graph, order: &mut Vec<OpId>, visit: &mut impl FnMut(&[OpId])) {
        if order.len() == graph.ops().len() {
            visit(order);
            return;
        }
        for op in graph.op_ids() {
            if !order.contains(&op) && graph.predecessors(op).iter().all(|p| order.contains(p)) {
                order.push(op);
                extend(graph, order, visit);
                order.pop();
            }
        }
    }
    extend(graph, &mut Vec::new(), visit);
}
