//! More freedom never ends worse.

use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{Format, Input, Options, Rewrites, export, load, optimize, plan_graphs};
use serenity_judges::on_all_cores;

/// Without rewrites, with exact ones, with all.
fn arenas(input: &Input, kernels: Kernels) -> [u64; 3] {
    let model = MemoryModel::Tflm(kernels);
    let options = Options { model, plan_arena: true, given_plan: input.plan(), ..Options::default() };
    let none = plan_graphs(input.graphs(), &options).unwrap();
    let exact = optimize(input, &Options { rewrites: Rewrites::Exact, ..options.clone() }).unwrap().plan;
    let all = optimize(input, &options).unwrap().plan;
    [none, exact, all].map(|plan| {
        let whole = input.tail(plan.model).map(|tail| tail.needed(plan.after.needs()).arm32);
        assert!(plan.is_reproducible() && whole.is_some());
        plan.after.needs()
    })
}

#[test]
fn looser_kernels_and_more_rewrites_need_no_more() {
    let folder = std::env::temp_dir().join(format!("serenity-freedom-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let cases = [
        ("swiftnet-a", Precision::Int8),
        ("swiftnet-b", Precision::Float32),
        ("swiftnet-c", Precision::Float32),
        ("darts-cell", Precision::Float32),
        ("mobilenet?resolution=32", Precision::Int8),
        ("randwire-cifar10?nodes=8", Precision::Float32),
    ];
    on_all_cores(&cases, |&(network, precision)| {
        let path = folder.join(format!("{}.tflite", network.split('?').next().unwrap()));
        std::fs::write(&path, export(network, Format::TfLite, precision).unwrap().bytes).unwrap();
        let input = load(path.to_str().unwrap()).unwrap();
        let (any, reference) = (arenas(&input, Kernels::Any), arenas(&input, Kernels::Reference));
        for arenas in [any, reference] {
            assert!(arenas.is_sorted_by(|less, more| less >= more), "{network}: {arenas:?}");
        }
        assert!(
            any.iter().zip(reference).all(|(any, reference)| reference <= *any),
            "{network}: {any:?} {reference:?}"
        );
    });
    std::fs::remove_dir_all(&folder).unwrap();
}
