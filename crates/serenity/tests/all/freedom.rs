//! More freedom never ends worse.

use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::Precision;
use serenity::{
    Format, Input, Optimized, Options, Rewrites, export, load, needs_by_kernels, optimize, plan_graphs,
};
use serenity_judges::on_all_cores;

/// The whole arena on a device: without rewrites, with exact ones, with all.
fn arenas(input: &Input, kernels: Kernels) -> [u64; 3] {
    let model = MemoryModel::Tflm(kernels);
    let options = Options { model, plan_arena: true, given_plan: input.plan(), ..Options::default() };
    let none = plan_graphs(input.graphs(), &options).unwrap();
    let none = Optimized { model: input.clone(), plan: none };
    let exact = optimize(input, &Options { rewrites: Rewrites::Exact, ..options.clone() }).unwrap();
    let all = optimize(input, &options).unwrap();
    [none, exact, all].map(|Optimized { model, plan }| {
        let whole = model.tail(plan.model).unwrap().needed(plan.after.needs()).arm32;
        assert!(plan.is_reproducible());
        let needs = needs_by_kernels(&model, &plan);
        let mut counted = needs.iter().filter(|need| need.counted);
        assert!(counted.all(|need| need.total <= Some(whole) && need.arena <= plan.after.needs()));
        whole
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
        let [any, reference, cmsis_nn] =
            [Kernels::Any, Kernels::Reference, Kernels::CmsisNn].map(|kernels| arenas(&input, kernels));
        for arenas in [any, reference, cmsis_nn] {
            assert!(arenas.is_sorted_by(|less, more| less >= more), "{network}: {arenas:?}");
        }
        for looser in [reference, cmsis_nn] {
            assert!(any.iter().zip(looser).all(|(any, one)| one <= *any), "{network}: {any:?} {looser:?}");
        }
    });
    std::fs::remove_dir_all(&folder).unwrap();
}
