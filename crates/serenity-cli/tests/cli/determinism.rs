//! Equal models and options give equal bytes: however often, with however many threads, and on a machine that has no
//! time for it.

use crate::harness::Desk;
use serde_json::Value;
use std::sync::Mutex;
use std::thread;

/// With each number of threads; `SERENITY_SLOW` asks for a hundred.
const RUNS: usize = 3;
const RUNS_IF_SLOW: usize = 100;
/// So many run at once, on however few cores: each is stopped and starved by the others.
const AT_ONCE: usize = 8;

/// What is left behind: the model, and the plan without the time that it took.
fn made(desk: &Desk, name: &str, options: &[&str], threads: &str, run: usize) -> (Vec<u8>, Value) {
    let extension = name.rsplit('.').next().unwrap();
    let (model, plan) = (format!("{run}-{threads}.{extension}"), format!("{run}-{threads}.{extension}.json"));
    let args = ["optimize", name, "-o", &model, "--plan", &plan, "--threads", threads, "--quiet"];
    let ended = desk.run(&[&args, options].concat());
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut stated: Value = serde_json::from_str(&desk.read(&plan)).unwrap();
    assert_eq!(stated["reproducible"], true, "{name} with {threads} threads");
    assert!(stated.as_object_mut().unwrap().remove("seconds").is_some());
    let bytes = std::fs::read(desk.path(&model)).unwrap();
    for file in [model, plan] {
        std::fs::remove_file(desk.path(&file)).unwrap();
    }
    (bytes, stated)
}

#[test]
fn the_same_bytes_every_time() {
    let runs = if serenity_judges::is_slow() { RUNS_IF_SLOW } else { RUNS };
    let desk = Desk::new();
    let models: [(&str, &str, &[&str]); 4] = [
        ("swiftnet-b", "loops.tflite", &["--loops"]),
        ("swiftnet-a", "rewritten.tflite", &["--runtime", "litert", "--kernels", "reference"]),
        ("randwire-cifar10?nodes=16", "random.onnx", &[]),
        ("darts-cell", "cell.json", &["--rewrite", "all"]),
    ];
    for (network, name, options) in models {
        let precision: &[&str] = if name.ends_with(".tflite") { &["--int8"] } else { &[] };
        let ended = desk.run(&[&["zoo", "export", network, "-o", name], precision].concat());
        assert_eq!(ended.code, 0, "{ended:?}");
        let open: Vec<(usize, &str)> =
            (0..runs).flat_map(|run| ["1", "2", "8"].map(|threads| (run, threads))).collect();
        let open = Mutex::new(open.into_iter());
        let first = made(&desk, name, options, "1", runs);
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let next = open.lock().unwrap().next();
                        let Some((run, threads)) = next else { break };
                        let again = made(&desk, name, options, threads, run);
                        assert!(again == first, "{name}: run {run} with {threads} threads differs");
                    }
                });
            }
        });
    }
}
