//! `serenity device`: what it says of a device, and what it refuses.

use crate::harness::Desk;
use serde_json::json;

/// A device with `size` bytes and two networks; `more` is said of the second.
fn app(size: &str, more: &str) -> String {
    format!(
        "[[memory]]\nname = \"sram\"\nsize = \"{size}\"\n\n[[model]]\nname = \"one\"\nfile = \"a.tflite\"\n\n\
         [[model]]\nname = \"two\"\nfile = \"b.tflite\"\n{more}"
    )
}

fn desk_with_models() -> Desk {
    let desk = Desk::new();
    for (spec, file) in [("swiftnet-a", "a.tflite"), ("swiftnet-c", "b.tflite")] {
        desk.run(&["zoo", "export", spec, "--int8", "-o", file]);
    }
    desk
}

#[test]
fn models_that_run_one_after_the_other_share_memory() {
    let desk = desk_with_models();
    desk.write("app.toml", &app("256 KiB", ""));
    let run = desk.run(&["device", "app.toml", "-o", "code", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let device = run.json();
    let of = |field: &str| -> Vec<u64> {
        device["models"].as_array().unwrap().iter().map(|model| model[field].as_u64().unwrap()).collect()
    };
    let (arenas, states) = (of("arena"), of("state"));
    let shared = *arenas.iter().max().unwrap();
    let state: u64 = states.iter().map(|bytes| bytes.next_multiple_of(16)).sum();
    assert_eq!(device["memories"][0]["shared"], shared);
    assert_eq!((&device["ram"], &device["moments"]), (&json!(shared + state), &json!([["one"], ["two"]])));
    assert!(device["apart"].as_u64().unwrap() > shared);
    for file in ["device.html", "device.h", "device.c", "memories.h", "one/model.c", "two/kernels.h"] {
        assert!(desk.path(&format!("code/{file}")).exists(), "{file}");
    }
    let text = desk.run(&["device", "app.toml"]).stdout;
    for line in ["app: 2 models in 1 memory", "sram", "256 KiB", "proved least for these plans"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    desk.write("both.toml", &format!("together = [[\"one\", \"two\"]]\n{}", app("256 KiB", "")));
    let both = desk.run(&["device", "both.toml", "--json"]).json();
    assert_eq!(both["moments"], json!([["one", "two"]]));
    assert!(both["ram"].as_u64().unwrap() > device["ram"].as_u64().unwrap());
}

#[test]
fn one_model_needs_no_file() {
    let desk = desk_with_models();
    let memory = ["--memory", "dtcm=16KiB,sram=256KiB"];
    let run = desk.run(&[&["device", "b.tflite"], &memory[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let next = "serenity device b.tflite --memory dtcm=16KiB,sram=256KiB -o DIR/";
    assert!(
        run.stdout.contains("device: 1 model in 2 memories") && run.stdout.contains(next),
        "{}",
        run.stdout
    );
    let json = desk.run(&[&["device", "b.tflite", "--json"], &memory[..]].concat()).json();
    let places: Vec<&str> = (json["baselines"].as_array().unwrap().iter())
        .map(|baseline| baseline["placement"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["first-fit", "largest-slow", "all-slow"]);
    let bytes =
        |memory: &serde_json::Value| memory["read"].as_u64().unwrap() + memory["written"].as_u64().unwrap();
    let slow = bytes(&json["memories"][1]);
    assert!(json["slow_bound"].as_u64().unwrap() <= slow);
    assert!(slow <= bytes(&json["baselines"][0]["memories"][1]));
    assert_eq!(bytes(&json["baselines"][2]["memories"][0]), 0);
    let row = run.stdout.lines().find(|line| line.starts_with("  this plan")).unwrap();
    assert_eq!(row.split_whitespace().last().unwrap().replace(',', ""), slow.to_string());
    let toml = "name = \"device\"\n[[memory]]\nname = \"dtcm\"\nsize = \"16KiB\"\n[[memory]]\nname = \"sram\"\nsize = \"256KiB\"\n\
                [[model]]\nname = \"b\"\nfile = \"b.tflite\"\nas = \"tflm\"\nkernels = \"cmsis-nn\"\n";
    desk.write("device.toml", toml);
    let short = [&["device", "b.tflite", "--kernels", "cmsis-nn", "-o", "short"], &memory[..]].concat();
    assert_eq!((desk.run(&short).code, desk.run(&["device", "device.toml", "-o", "long"]).code), (0, 0));
    for file in ["tflm.h", "memories.h", "b/model.tflite"] {
        let bytes = |folder: &str| std::fs::read(desk.path(&format!("{folder}/{file}"))).unwrap();
        assert_eq!(bytes("short"), bytes("long"), "{file}");
    }
    for (arguments, expected) in [
        (&["device", "b.tflite"][..], "name the memories: --memory dtcm=16KiB"),
        (&["device", "device.toml", "--memory", "a=1KiB"], "names its own memories"),
        (&["device", "b.tflite", "--memory", "16KiB"], "as in sram=256KiB"),
        (&["device", "b.tflite", "--memory", "a=many"], "a=many"),
        (&["device", "b.tflite", "--memory", "a=8KiB,a=8KiB"], "two memories are called `a`"),
        (&["device", "b.tflite", "--memory", "a=8KiB"], "more than fit `a` ("),
    ] {
        let run = desk.run(arguments);
        assert!(run.code != 0 && run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
    let optimized = desk.run(&["optimize", "b.tflite", "--memory", "dtcm=16KiB,sram=256KiB"]);
    let next = "serenity device b.tflite --memory dtcm=16KiB,sram=256KiB -o DIR/";
    assert!(optimized.stdout.contains(next), "{}", optimized.stdout);
}

#[test]
fn models_for_tflm_come_with_a_planner() {
    let desk = desk_with_models();
    desk.write("app.toml", &app("256 KiB", "as = \"tflm\"\nkernels = \"cmsis-nn\"\n"));
    let run = desk.run(&["device", "app.toml", "-o", "code"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("give app::two_allocator() to the interpreter of"), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
    let header = desk.read("code/tflm.h");
    assert!(
        header.contains("planned for the kernels cmsis-nn, and TFLM seems to be built with esp-nn"),
        "{header}"
    );
    // The file runs anywhere: it holds no plan.
    let model = desk.run(&["inspect", "code/two/model.tflite", "--json"]).json();
    assert_eq!(model["runtime"], "tflm");
    let device = desk.run(&["device", "app.toml", "--json"]).json();
    assert_eq!(
        (&device["models"][1]["as"], &device["models"][1]["kernels"]),
        (&json!("tflm"), &json!("cmsis-nn"))
    );
    assert!(device["models"][1]["state"].as_u64().unwrap() > 0, "what TFLM keeps");
}

#[test]
fn what_does_not_fit_is_named_and_nothing_is_written() {
    let desk = desk_with_models();
    let feed = "[[model.feed]]\nfrom = \"one\"\n";
    let cases = [
        (app("16 KiB", ""), "the tensors of `one` need", "give it a second memory"),
        (app("256 KiB", feed), "output 0 of `one` is ", ""),
        (
            app("256 KiB", "memories = [\"psram\"]\n"),
            "there is no memory `psram`; there are `sram`",
            "--help",
        ),
        (
            app("16 KiB", "").replacen(
                "[[model]]",
                "[[memory]]\nname = \"slow\"\nsize = 20000\n\n[[model]]",
                1,
            ),
            "more than fit `sram` (16,384 of 16 KiB free) and `slow` (19,936 of 20000 free)",
            "largest at its peak: ",
        ),
        (app("256 KiB", "").replace("\"256 KiB\"", "-3"), "line 3: a size is a number of bytes", "--help"),
        (app("256 KiB", "loops = \"yes\"\n"), "`loops` is true, or a percentage", "--help"),
        (app("256 KiB", &format!("{feed}{feed}")), "two feeds go to the same input", "--help"),
        (
            app("256 KiB", &format!("{feed}output = 3\n")),
            "`one` has no output 3: there are 1, counted from 0",
            "same type and size",
        ),
        (app("256 KiB", "as = \"tflm\"\nkernels = \"cmsis\"\n"), "there are no kernels `cmsis`", "--help"),
        (
            app("256 KiB", "as = \"tflm\"\nkernels = \"cmsis-nn\"\nstate = \"tiny\"\n").replacen(
                "[[model]]",
                "[[memory]]\nname = \"tiny\"\nsize = 1000\n\n[[model]]",
                1,
            ),
            "what `two` must keep from run to run needs",
            "`state`",
        ),
        (app("256K", ""), "memory `sram`: `size` is \"256K\": say 256KB", "--help"),
        (app("256 KiB", "loop = true\n"), "line 12: unknown field `loop`", "--help"),
        (app("256 KiB", "as = \"tflm\"\n"), "`kernels` says which kernels your TFLM is built with", "--help"),
        (app("256 KiB", "kernels = \"cmsis-nn\"\n"), "`kernels` is for TFLM", "--help"),
        (
            app("256 KiB", &format!("as = \"tflm\"\nkernels = \"cmsis-nn\"\n{feed}")),
            "output 0 of `one` is ",
            "",
        ),
        (
            app("256 KiB", "").replace("b.tflite", "nowhere.tflite"),
            "model `two`: cannot read `nowhere.tflite`",
            "begins at the folder of the file",
        ),
    ];
    for (text, message, help) in cases {
        desk.write("app.toml", &text);
        let run = desk.run(&["device", "app.toml", "-o", "code"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.contains(message) && run.stderr.contains(help), "{}", run.stderr);
        assert!(!desk.path("code").exists());
    }
    let none = desk.run(&["device", "nowhere.toml"]);
    assert!(none.code == 2 && none.stderr.contains("cannot read `nowhere.toml`"), "{}", none.stderr);
}

/// Mistakes that people make in the file: the message says what to write instead.
#[test]
fn mistakes_in_the_file_come_with_a_remedy() {
    let desk = Desk::new();
    let right = app("256 KiB", "");
    let top = |line: &str| format!("{line}\n{right}");
    let with = |from: &str, to: &str| {
        assert!(right.contains(from));
        right.replacen(from, to, 1)
    };
    let feed = |from: &str| format!("file = \"a.tflite\"\n[[model.feed]]\nfrom = \"{from}\"");
    let cases = [
        (
            top("together = [\"one\", \"two\"]"),
            "line 1: expected a list of sets, each a list of models, as in together = [[",
        ),
        (top("together = \"one\""), "as in together = [[\"kws\", \"vww\"]], found string \"one\""),
        (app("256 KiB", "together = [[\"one\"]]\n"), "stands above the first [[memory]]"),
        (
            with("[[memory]]", "[memory]"),
            "line 1: expected [[memory]] in double brackets, once per memory, found map",
        ),
        (
            with("\n[[model]]", "\n[model]").split("\n[[model]]").next().unwrap().to_owned(),
            "line 5: expected [[model]] in double brackets",
        ),
        (
            app("256 KiB", "feed = \"one\"\n"),
            "line 12: expected [[model.feed]] in double brackets below its model",
        ),
        (app("256 KiB", "memories = \"sram\"\n"), "as in memories = [\"sram\"], found string \"sram\""),
        (with("size = \"256 KiB\"", "size = 0"), "memory `sram`: `size` is 0: give its bytes"),
        (
            with("size = \"256 KiB\"", "size = \"many\""),
            "memory `sram`: `size` is \"many\": expected a size as in 250000",
        ),
        (
            with("size = \"256 KiB\"", "size = 9\nread = -1"),
            "line 4: the cost of a byte is a whole number from 0 on",
        ),
        (app("256 KiB", "[[model.feed]]\nfrom = \"one\"\noutput = -1\n"), "counted from 0"),
        (with("[[memory]]\nname = \"sram\"\nsize = \"256 KiB\"", ""), "there is no memory: add [[memory]]"),
        (
            with("file = \"a.tflite\"", &feed("two")),
            "model `one`: `two` feeds it, so move [[model]] `two` above it; models that feed each other have no order",
        ),
        (
            with("file = \"a.tflite\"", &feed("one")),
            "model `one` feeds itself: in one round each model runs once",
        ),
        (with("\"two\"", "\"one\""), "two models are called `one`: give each a name of its own"),
        (
            with("\"two\"", "\"Two-b\""),
            "model `Two-b`: a name begins with a small letter and goes on with small letters, digits or _, as in `two_b`",
        ),
        (top("name = \"one\""), "the device and a model are both called `one`: rename one of them"),
        (
            with("\"sram\"", "\"run_one\""),
            "memory `run_one` of device `app` and model `one` would both become `app_run_one` in C",
        ),
        (
            format!("name = \"int\"\n{}as = \"tflm\"\nkernels = \"reference\"\n", app("256 KiB", "")),
            "device `int`: C++ cannot have a namespace of this name; take another one, as in name = \"int_device\"",
        ),
    ];
    for (text, message) in cases {
        desk.write("app.toml", &text);
        let run = desk.run(&["device", "app.toml"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.contains(message), "{message}\n{}", run.stderr);
    }
}
