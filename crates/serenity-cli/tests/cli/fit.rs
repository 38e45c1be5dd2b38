//! `serenity fit`: every row is what its command makes, and what is written fits.

use crate::float_io::with_float_io;
use crate::harness::Desk;
use serde_json::{Value, json};
use serenity_judges::shared;

/// A built-in network as a model of int8 operators.
fn desk_with_model() -> Desk {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", "swiftnet-b", "--int8", "-o", "net.tflite"]);
    assert_eq!(run.code, 0, "{run:?}");
    desk
}

fn ways(object: &Value) -> Vec<&Value> {
    object["ways"].as_array().unwrap().iter().collect()
}

#[test]
fn every_row_is_what_its_command_makes() {
    let desk = desk_with_model();
    for (forbidden, least) in [("kernels", 4), ("kernels,rewrites,loops", 2)] {
        let run = desk.run(&["fit", "net.tflite", "--budget", "40KB", "--forbid", forbidden, "--json"]);
        let object = run.json();
        let mut made = 0;
        for way in ways(&object) {
            let Some(command) = way["command"].as_str() else { continue };
            let mut args: Vec<&str> = command.split(' ').skip(1).collect();
            args.push("--json");
            let again = desk.run(&args).json();
            let needs = if args[0] == "emit" { &again["ram"] } else { &again["needs"] };
            assert_eq!(needs, &way["need"], "{command}");
            made += 1;
        }
        assert!(made >= least, "{object}");
    }
}

#[test]
fn the_first_that_fits_is_written() {
    let desk = desk_with_model();
    let fit = |budget: &str, more: &[&str]| {
        desk.run(&[&["fit", "net.tflite", "--budget", budget, "--forbid", "kernels"], more].concat())
    };
    let as_it_came = fit("10MB", &["--json"]).json();
    assert_eq!((&as_it_came["chosen"], &as_it_came["fits"]), (&json!(0), &json!(true)));
    // A little less than what the rewritten model needs, so that something more must be done.
    let rewritten = ways(&as_it_came)
        .into_iter()
        .filter(|way| way["not_possible"].is_null() && way["changes"].as_array().unwrap().len() <= 2)
        .map(|way| way["need"].as_u64().unwrap() + way["margin"].as_u64().unwrap())
        .min()
        .unwrap();
    let budget = (rewritten - 1).to_string();
    let run = fit(&budget, &["-o", "small.tflite", "--json"]);
    let object = run.json();
    assert_eq!((run.code, &object["files"]), (0, &json!(["small.tflite"])));
    let first = &object["ways"][object["chosen"].as_u64().unwrap() as usize];
    assert!(first["changes"].as_array().unwrap().len() > 2, "{first}");
    let kernels = first["kernels"].as_str().unwrap_or("any");
    let inspected =
        desk.run(&["inspect", "small.tflite", "--kernels", kernels, "--budget", &budget, "--json"]);
    assert_eq!(inspected.code, 0, "{inspected:?}");
    // As code, and into a folder.
    let run = fit(&budget, &["-o", "code/", "--name", "kws", "--verbose"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("--name kws -o code"), "{run:?}");
    let header = std::fs::read_to_string(desk.path("code/model.h")).unwrap();
    assert!(header.contains("void kws_invoke(void)"), "{header}");
    assert!(run.stdout.contains("C code") && desk.path("code").is_dir(), "{run:?}");
}

#[test]
fn changes_are_permitted_and_forbidden_by_name() {
    let desk = desk_with_model();
    let plain = std::fs::read(desk.path("net.tflite")).unwrap();
    std::fs::write(desk.path("net.tflite"), with_float_io(plain)).unwrap();
    let changes = |more: &[&str]| {
        let object = desk.run(&[&["fit", "net.tflite", "--budget", "1KB", "--json"], more].concat()).json();
        let all = ways(&object).into_iter().flat_map(|way| way["changes"].as_array().unwrap().clone());
        let mut all: Vec<String> = all.map(|change| change.as_str().unwrap().to_owned()).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(changes(&["--allow", "int8-io"]), ["int8-io", "plan", "rewrites"]);
    assert_eq!(changes(&["--allow", "int8-io", "--forbid", "rewrites"]), ["int8-io", "plan"]);
    assert_eq!(changes(&["--forbid", "loops,c,kernels"]), ["int8-io", "plan", "rewrites"]);
    assert!(changes(&["--forbid", "plan"]).is_empty());
    let run = desk.run(&["fit", "net.tflite", "--budget", "1KB", "--allow", "magic"]);
    assert!(run.code == 2 && run.stderr.contains("possible values"), "{run:?}");
}

#[test]
fn a_model_is_written_in_its_own_format_alone() {
    let desk = desk_with_model();
    let fit = |to: &str| desk.run(&["fit", "net.tflite", "--budget", "10MB", "--allow", "plan", "-o", to]);
    let run = fit("net.onnx");
    assert!(run.code == 2 && run.stderr.contains("in the format it came in"), "{run:?}");
    assert!(!desk.path("net.onnx").exists());
    assert_eq!(fit("net.json").code, 0);
    let graph = desk.run(&["inspect", "net.json", "--json"]).json();
    assert_eq!(graph["input"], json!("net.json"), "{graph}");
}

#[test]
fn windows_over_time_are_a_way_if_they_are_asked_for() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "mobilenet?resolution=64", "-o", "net.tflite", "--int8"]);
    let fit = ["fit", "net.tflite", "--budget", "64KB", "--allow", "plan,rewrites,loops,c,stream", "--json"];
    let with = desk.run(&[&fit[..], &["--hop", "16"]].concat()).json();
    let slid = *ways(&with).last().unwrap();
    assert_eq!(slid["name"], json!("C code, windows slid, loops"), "{slid}");
    let args: Vec<&str> = slid["command"].as_str().unwrap().split(' ').skip(1).chain(["--json"]).collect();
    let made = desk.run(&args).json();
    let hop = &made["pushes"]["hop"];
    let saved = hop["macs"].as_i64().unwrap() - hop["window_macs"].as_i64().unwrap();
    assert_eq!((&made["ram"], saved), (&slid["need"], slid["extra_macs"].as_i64().unwrap()), "{made}");
    assert_eq!(made["instructions"], slid["instructions"]);
    assert!(slid["extra_time"].as_f64() < ways(&with)[0]["extra_time"].as_f64() && saved < 0, "{slid}");
    let without = desk.run(&["fit", "net.tflite", "--budget", "64KB", "--allow", "plan,c,stream", "--json"]);
    assert!(!without.stdout.contains("windows slid"), "{without:?}");
    // This network pads its windows over time, which an interpreter cannot keep; the title names the model.
    let padded = *ways(&with).iter().find(|way| way["name"] == json!("windows slid")).unwrap();
    assert!(padded["not_possible"].as_str().unwrap().starts_with("cannot take 16 rows"), "{padded}");
    let run = desk.run(&["fit", "zoo:swiftnet-a", "--budget", "180KB", "--hop", "1"]);
    assert!(run.code == 2 && run.stderr.contains("windows over time need a whole .tflite model"), "{run:?}");
}

/// TFLM takes the new rows of a window too: the row says what its command makes, and the model is written.
#[test]
fn windows_slide_in_tflm_as_well() {
    let Some(models) = shared("more-models") else { return };
    let desk = Desk::new();
    std::fs::copy(models.join("str_ww_ref_model.tflite"), desk.path("ww.tflite")).unwrap();
    let fit = ["fit", "ww.tflite", "--kernels", "reference", "--budget", "14KiB", "--hop", "1"];
    let with = desk.run(&[&fit[..], &["--allow", "stream", "--json"]].concat()).json();
    let slid = *ways(&with).iter().find(|way| way["name"] == json!("windows slid")).unwrap();
    let args: Vec<&str> = slid["command"].as_str().unwrap().split(' ').skip(1).chain(["--json"]).collect();
    let made = desk.run(&args).json();
    let hop = &made["hop"];
    assert_eq!((&hop["rows"], &hop["first"], &hop["macs"]), (&json!(1), &json!(30), &json!(46_040)));
    let saved = hop["macs"].as_i64().unwrap() - hop["window_macs"].as_i64().unwrap();
    assert_eq!((&made["needs"], saved), (&slid["need"], slid["extra_macs"].as_i64().unwrap()), "{made}");
    assert!(slid["asks"].to_string().contains("AddSlice()") && slid["extra_flash"].as_i64() > Some(0));
    assert!(desk.run(&["optimize", "zoo:swiftnet-a", "--json"]).json()["hop"].is_null());
    // The hint is about windows that slide, and names a memory that they do not fit.
    let slide = ["optimize", "ww.tflite", "--kernels", "reference", "--hop", "1", "-o", "frames.tflite"];
    let text = desk.run(&slide).stdout;
    assert!(text.contains("serenity fit ww.tflite --kernels reference --hop 1 --budget 8KiB"), "{text}");
    let larger = desk.run(&["optimize", "ww.tflite", "--kernels", "cmsis-nn", "--hop", "1"]).stdout;
    assert!(larger.contains("bytes more than on whole windows"), "{larger}");
    // Both ends of what is carried count once, on the page too.
    let seen = desk.run(&["inspect", "frames.tflite", "--kernels", "reference", "--json"]).json();
    assert!(seen["peak"].as_u64() <= seen["arena"].as_u64(), "{seen}");
    desk.run(&["report", "frames.tflite", "--kernels", "reference", "-o", "page.html"]);
    let page = std::fs::read_to_string(desk.path("page.html")).unwrap();
    assert!(page.contains(&format!("peak {} B", seen["peak"])), "{}", seen["peak"]);
}

#[test]
fn what_fits_in_no_way_says_why_and_writes_nothing() {
    let desk = desk_with_model();
    let run =
        desk.run(&["fit", "net.tflite", "--budget", "1KB", "--allow", "plan,c,rewrites", "-o", "code/"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    for part in ["does not fit 1 KB in any way", "Floor: ", "input itself takes", "a smaller input"] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    assert_eq!(desk.files(), ["net.tflite"]);
}

/// Also of a model that no order helps: a chain.
#[test]
fn what_sets_the_need_is_named() {
    let run = Desk::new().run(&["fit", "zoo:mobilenet?resolution=32", "--budget", "1KB"]);
    assert_eq!(run.code, 1, "{run:?}");
    for part in ["(order and plan; proved", "Most is in use while `"] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
}

#[test]
fn a_graph_without_weights_has_fewer_ways() {
    let run = Desk::new().run(&["fit", "zoo:swiftnet-a", "--budget", "180KB"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.contains("fits 180 KB: order, plan, rewrites\n  set the arena to 150,528 bytes"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("loops") && !run.stdout.contains("kernels"), "{}", run.stdout);
}
