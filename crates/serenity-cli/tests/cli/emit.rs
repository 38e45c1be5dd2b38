//! `emit c`, `optimize --emit-c` and `verify MODEL DIR`: files, figures, and requests that make no sense.

use crate::harness::Desk;
use serde_json::json;

/// A folder with a model in it.
fn desk() -> Desk {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", "swiftnet-c", "-o", "net.tflite", "--int8"]);
    assert_eq!(run.code, 0, "{run:?}");
    desk
}

const FILES: [&str; 4] = ["kernels.c", "kernels.h", "model.c", "model.h"];

#[test]
fn code_is_written_into_a_folder_and_told() {
    let desk = desk();
    let object = desk.run(&["emit", "c", "net.tflite", "-o", "a/b", "--json"]).json();
    let folder = desk.path("a/b");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, FILES);
    assert_eq!((&object["prefix"], &object["fits"]), (&json!("net"), &json!(null)));
    let header = desk.read("a/b/model.h");
    assert!(header.contains(&format!("#define NET_ARENA_BYTES {}\n", object["arena"])), "{header}");
    assert_eq!(object["ram"], object["arena"]);
    assert!(object["flash"].as_u64().unwrap() > 80_000, "{object}");

    // `optimize` emits the same code, and so does `emit` from the model that `optimize` wrote for these kernels.
    let args = ["optimize", "net.tflite", "--emit-c", "code", "-o", "planned.tflite", "--json"];
    let optimized = desk.run(&args).json();
    assert_eq!((&optimized["code"]["ram"], &optimized["kernels"]), (&object["ram"], &json!("emitted")));
    assert_eq!(desk.read("code/model.c"), desk.read("a/b/model.c"));
    let again = desk.run(&["emit", "c", "planned.tflite", "-o", "again", "--json"]).json();
    assert_eq!(again["ram"], object["ram"]);
}

#[test]
fn loops_take_less_and_a_budget_decides() {
    let desk = desk();
    let flat = desk.run(&["emit", "c", "net.tflite", "-o", "flat", "--json"]).json();
    let args = [
        "emit",
        "c",
        "net.tflite",
        "-o",
        "looped",
        "--loops",
        "--name",
        "My Net",
        "--budget",
        "30KB",
        "--json",
    ];
    let run = desk.run(&args);
    let looped = run.json();
    assert_eq!((run.code, &looped["fits"], &looped["prefix"]), (0, &json!(true), &json!("my_net")));
    assert!(looped["ram"].as_u64() < flat["ram"].as_u64(), "{looped}");
    assert!(desk.read("looped/model.c").contains("for (int32_t i = 0; i < "));
    let run = desk.run(&["emit", "c", "net.tflite", "-o", "small", "--budget", "1KB"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("does not fit 1 KB: 40,472 bytes over"), "{run:?}");
}

#[test]
fn rows_are_pushed() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "mobilenet?resolution=64", "-o", "net.tflite", "--int8"]);
    let whole = desk.run(&["emit", "c", "net.tflite", "-o", "whole", "--json"]).json();
    assert_eq!(whole["pushes"], json!(null));
    let rows = desk.run(&["emit", "c", "net.tflite", "-o", "rows", "--stream", "rows", "--json"]).json();
    let pushes = &rows["pushes"];
    assert_eq!((&pushes["rows"], &pushes["row_bytes"]), (&json!(64), &json!(192)));
    assert!(pushes["mean_macs"].as_u64() < pushes["most_macs"].as_u64(), "{rows}");
    assert!(rows["ram"].as_u64() < whole["ram"].as_u64(), "{rows} {whole}");
    let header = desk.read("rows/model.h");
    let declared = ["#define NET_ROWS 64\n", "int32_t net_push(const void *row);", "void net_begin(void);"];
    assert!(declared.iter().all(|line| header.contains(line)) && !header.contains("INPUT"), "{header}");
}

#[test]
fn windows_slide_over_time() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "mobilenet?resolution=64", "-o", "net.tflite", "--int8"]);
    let slide = ["emit", "c", "net.tflite", "-o", "time", "--stream", "time", "--hop"];
    let time = desk.run(&[&slide[..], &["16", "--json"]].concat()).json();
    let (pushes, hop) = (&time["pushes"], &time["pushes"]["hop"]);
    assert_eq!((&pushes["rows"], &hop["rows"]), (&json!(64), &json!(16)));
    assert!(hop["macs"].as_u64() < hop["window_macs"].as_u64(), "{time}");
    let header = desk.read("time/model.h");
    let declared = ["#define NET_ROWS 64\n", "#define NET_HOP 16\n", "int32_t net_push(const void *row);"];
    assert!(declared.iter().all(|line| header.contains(line)) && !header.contains("INPUT"), "{header}");
    let run = desk.run(&[&slide[..], &["65"]].concat());
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("`net.tflite` cannot run in windows that move by 65 rows"), "{run:?}");
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let desk = desk();
    desk.write("file", "");
    let cases: &[(&[&str], &str)] = &[
        (&["emit", "c", "zoo:swiftnet-c", "-o", "dir"], "only a whole .tflite model"),
        (&["emit", "c", "net.tflite", "-o", "file"], "`file` is no folder"),
        (&["emit", "c", "net.tflite", "-o", "dir", "--kernels", "reference"], "kernels of its own"),
        (&["emit", "c", "net.tflite", "-o", "dir", "--no-plan"], "needs the places"),
        (
            &["emit", "c", "net.tflite", "-o", "dir", "--stream", "rows", "--kernels", "cmsis-nn"],
            "rows that lie apart",
        ),
        (
            &["emit", "c", "net.tflite", "-o", "dir", "--stream", "rows", "--hop", "2"],
            "only windows over time",
        ),
        (&["emit", "c", "net.tflite", "-o", "dir", "--runtime", "litert"], "plan for TFLM"),
        (&["optimize", "net.tflite", "--emit-c", "dir", "--kernels", "esp-nn"], "kernels of its own"),
        (&["optimize", "net.tflite", "net.tflite", "--emit-c", "dir"], "is for one model"),
        (&["verify", "net.tflite", "."], "holds no C"),
        (
            &["emit", "c", "net.tflite", "-o", "dir", "--layout", "arduino", "--kernels", "cmsis-nn"],
            "where your CMSIS-NN is",
        ),
    ];
    desk.write("model.h", "int x;\n");
    for (args, message) in cases {
        let run = desk.run(args);
        assert_eq!(run.code, 2, "{args:?} {run:?}");
        assert!(run.stderr.contains(message), "{args:?} {run:?}");
        assert!(!desk.path("dir").exists(), "{args:?}");
    }
}

#[test]
fn what_is_not_covered_is_refused_by_name_and_nothing_is_written() {
    let Some(models) = serenity_judges::shared("models") else { return };
    let desk = desk();
    for (model, message) in [
        ("mobilenet_v1_0.25_128_quant", "for CONV_2D `MobilenetV1/MobilenetV1/Conv2d_0/Relu6"),
        ("face_detection_short_range", "of 16-bit floats is not covered; `--fold-constants`"),
    ] {
        let path = models.join(format!("{model}.tflite"));
        let run = desk.run(&["emit", "c", path.to_str().unwrap(), "-o", "dir"]);
        assert_eq!(run.code, 2, "{model} {run:?}");
        assert!(run.stderr.contains("cannot write C") && run.stderr.contains(message), "{model} {run:?}");
        assert!(!desk.path("dir").exists(), "{model}");
    }
}

#[test]
fn code_is_compared_with_the_model_by_running_both() {
    let Some(python) = serenity_judges::python() else { return };
    let desk = desk();
    assert_eq!(desk.run(&["emit", "c", "net.tflite", "-o", "code"]).code, 0);
    let run = desk.run_with_python(&python, &["verify", "net.tflite", "code", "--runs", "1", "--json"]);
    let object = run.json();
    assert_eq!((run.code, &object["equal"]), (0, &json!(true)), "{run:?}");

    // A wrong number is noticed, and so is code that does not compile.
    let model = desk.read("code/model.c");
    std::fs::write(desk.path("code/model.c"), model.replacen("-1,", "-2,", 40)).unwrap();
    let run = desk.run_with_python(&python, &["verify", "net.tflite", "code", "--runs", "1"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.starts_with("DIFFERENT"), "{run:?}");
    std::fs::write(desk.path("code/model.c"), "error").unwrap();
    let run = desk.run_with_python(&python, &["verify", "net.tflite", "code"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("does not compile"), "{run:?}");
}
