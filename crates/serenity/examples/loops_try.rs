use serenity::runtimes::{Kernels, MemoryModel};
use serenity::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let kernels: Kernels = args.next().unwrap().parse().unwrap();
    let share: f64 = args.next().unwrap().parse().unwrap();
    for path in args {
        let input = load(&path).unwrap();
        let mut options = Options { model: MemoryModel::Tflm(kernels), ..Options::for_input(&input) };
        options.loops = None;
        let t = std::time::Instant::now();
        let base = optimize(&input, &options).unwrap();
        let t1 = t.elapsed().as_secs_f64();
        options.loops = Some(Loops { most_extra_macs: share });
        let t = std::time::Instant::now();
        let best = optimize(&input, &options).unwrap();
        let t2 = t.elapsed().as_secs_f64() - t1;
        let need = |o: &Optimized| {
            o.model.tail(o.plan.model).map(|tail| tail.needed(o.plan.after.needs()).arm32).unwrap_or(0)
        };
        let name = std::path::Path::new(&path).file_stem().unwrap().to_str().unwrap().to_owned();
        let l = best.plan.loops.as_ref();
        println!(
            "{name}: {} -> {} ({}) -> {} ({}) macs +{:.1}% loops {} base {t1:.1}s loops {t2:.1}s",
            base.plan.before.needs(),
            base.plan.after.needs(),
            need(&base),
            best.plan.after.needs(),
            need(&best),
            l.map_or(0.0, |l| 100.0 * l.extra_macs as f64 / l.macs as f64),
            l.map_or(String::new(), |l| l
                .loops
                .iter()
                .map(|s| format!(
                    "[{}{} x{} p{}]",
                    if s.carries { "L" } else { "H" },
                    s.ops.len(),
                    s.iterations,
                    s.step
                ))
                .collect::<String>())
        );
        std::fs::create_dir_all("/tmp/loops").unwrap();
        std::fs::write(format!("/tmp/loops/{name}.{kernels}.tflite"), best.to_bytes().unwrap()).unwrap();
    }
}
