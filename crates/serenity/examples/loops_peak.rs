use serenity::runtimes::{Content, Kernels, MemoryModel};
use serenity::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let kernels: Kernels = args.next().unwrap().parse().unwrap();
    let input = load(&args.next().unwrap()).unwrap();
    let places = input.plan().unwrap();
    let graphs: Vec<_> = input.graphs().iter().collect();
    let own: Vec<_> = graphs.iter().map(|g| g.file_order()).collect();
    let orders: Vec<_> = own.iter().map(Vec::as_slice).collect();
    let problem = MemoryModel::Tflm(kernels).with_plan().placement_problem(&graphs, &orders).unwrap();
    let top = |step: i64| {
        problem
            .contents
            .iter()
            .zip(problem.problem.buffers())
            .filter(|(_, b)| b.first <= step && step <= b.last)
            .map(|(c, b)| {
                (match c {
                    Content::Tensor { graph, tensor } => places[*graph][tensor.index()].unwrap_or(0) + b.size,
                    Content::Scratch { .. } => 0,
                })
            })
            .max()
            .unwrap_or(0)
    };
    let last = problem.problem.buffers().iter().map(|b| b.last).max().unwrap();
    let worst = (0..=last)
        .max_by_key(|&s| {
            let mut r: Vec<(u64, u64)> = problem
                .contents
                .iter()
                .zip(problem.problem.buffers())
                .filter(|(_, b)| b.first <= s && s <= b.last)
                .filter_map(|(c, b)| match c {
                    Content::Tensor { graph, tensor } => {
                        let o = places[*graph][tensor.index()]?;
                        Some((o, o + b.size))
                    }
                    _ => None,
                })
                .collect();
            r.sort();
            let mut e = 0;
            let mut u = 0;
            for (a, z) in r {
                u += z.max(e) - a.max(e);
                e = e.max(z);
            }
            u
        })
        .unwrap();
    println!("peak step {worst} of {last}, top {}", top(worst));
    for (c, b) in problem
        .contents
        .iter()
        .zip(problem.problem.buffers())
        .filter(|(_, b)| b.first <= worst && worst <= b.last)
    {
        let (p, name, shape) = match c {
            Content::Tensor { graph, tensor } => (
                places[*graph][tensor.index()].unwrap_or(0),
                format!("{}:{}", graph, graphs[*graph].tensor_label(*tensor)),
                graphs[*graph].tensor(*tensor).shape.clone(),
            ),
            _ => (0, "scratch".into(), None),
        };
        let prod = match c {
            Content::Tensor { graph, tensor } => {
                graphs[*graph].producer(*tensor).map(|o| graphs[*graph].op(o).kind.to_string())
            }
            _ => None,
        };
        println!(
            "{p:8} +{:7} [{}..{}] {:?} {} {shape:?}",
            b.size,
            b.first,
            b.last,
            prod,
            &name[..name.len().min(40)]
        );
    }
}
