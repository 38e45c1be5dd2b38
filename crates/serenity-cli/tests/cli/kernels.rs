//! Sets of kernels: what each needs, what a plan was made for, and what a runtime cannot run.

use crate::harness::Desk;
use serde_json::{Value, json};

/// A folder with a model in it.
fn desk_with(network: &str, options: &[&str]) -> Desk {
    let desk = Desk::new();
    let run = desk.run(&[&["zoo", "export", network, "-o", "net.tflite"], options].concat());
    assert_eq!(run.code, 0, "{run:?}");
    desk
}

#[test]
fn what_is_said_of_any_kernels_is_enough_for_each() {
    let desk = desk_with("mobilenet?resolution=32", &["--int8"]);
    let found = desk.run(&["optimize", "net.tflite", "--json"]).json();
    let number = |value: &Value| value.as_u64().unwrap();
    let sets = found["by_kernels"].as_array().unwrap();
    let names: Vec<&str> = sets.iter().map(|set| set["kernels"].as_str().unwrap()).collect();
    assert_eq!(names, ["reference", "cmsis-nn", "cmsis-nn-mve", "esp-nn", "esp-nn-s3"]);
    for set in sets {
        let is_enough = number(&set["arena"]) <= number(&found["after"]["arena"])
            && number(&set["total"]) <= number(&found["after"]["total"]["arm32"]);
        assert_eq!(set["counted"], is_enough, "{set}");
    }
    assert!(sets[..4].iter().any(|set| set["arena"] == found["after"]["arena"]));
    let text = desk.run(&["optimize", "net.tflite"]).stdout;
    assert!(
        text.contains("enough for these kernels: ") && text.contains("not enough for: esp-nn-s3"),
        "{text}"
    );
    // A plan for one set speaks of that alone, and needs no more than one for any.
    for set in sets {
        let kernels = set["kernels"].as_str().unwrap();
        let own = desk.run(&["optimize", "net.tflite", "--kernels", kernels, "--json"]).json();
        assert_eq!(own["by_kernels"].as_array().unwrap().len(), 1);
        assert!(number(&own["after"]["arena"]) <= number(&set["arena"]), "{kernels}");
    }
}

/// `ESPHome` gives this model an arena of 37,000 bytes. On an ESP32-S3 it ran until ESP-NN 1.2.1 came, and then TFLM
/// said `Failed to resize buffer. Requested: 33488`.
#[test]
fn the_release_that_broke_a_wake_word_is_named() {
    let Some(models) = serenity_judges::shared("models") else { return };
    let model = models.join("microwakeword_okay_nabu.tflite").to_str().unwrap().to_owned();
    let inspect = |more: &[&str]| {
        Desk::new().run(&[&["inspect", &model, "--budget", "37000", "--time-limit", "1"], more].concat())
    };
    let object = inspect(&["--kernels", "esp-nn-s3", "--json"]).json();
    let needs: Vec<Value> = object["by_kernels"].as_array().unwrap().clone();
    let told: Vec<_> = needs.iter().map(|need| (&need["kernels"], &need["arena"], &need["fits"])).collect();
    let expected = [
        (json!("esp-nn-s3@1.1"), json!(17_840), json!(true)),
        (json!("esp-nn-s3@1.2.0"), json!(17_840), json!(true)),
        (json!("esp-nn-s3@1.2.1"), json!(33_488), json!(false)),
        (json!("esp-nn-s3"), json!(33_520), json!(false)),
    ];
    assert_eq!(told, expected.iter().map(|(name, head, fits)| (name, head, fits)).collect::<Vec<_>>());
    // Each release is a name of its set, and the figures are those of the set by itself.
    for need in &needs {
        for release in need["releases"].as_array().unwrap() {
            let alone = inspect(&["--kernels", release.as_str().unwrap(), "--json"]).json();
            assert_eq!((&alone["arena"], &alone["fits"]), (&need["arena"], &need["fits"]), "{release}");
            assert_eq!(alone["total"]["arm32"], need["needs"], "{release}");
        }
    }
    let text = inspect(&[]).stdout;
    assert!(text.contains("esp-nn-s3@1.2.0         36,288   fits, releases 1.0.0 to 1.2.0"), "{text}");
    assert!(text.contains("esp-nn-s3@1.2.1         51,936   14,936 over, releases 1.2.1 to 1.2.2"), "{text}");
    let unknown = inspect(&["--kernels", "esp-nn-s3@9.9"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("esp-nn-s3@1.2.1"), "{unknown:?}");
}

#[test]
fn a_model_says_for_which_kernels_its_plan_is() {
    let desk = desk_with("mobilenet?resolution=32", &["--int8"]);
    let made = desk
        .run(&["optimize", "net.tflite", "--kernels", "reference", "-o", "small.tflite", "--json"])
        .json();
    assert_eq!(made["plan_note"], json!(null));
    let inspect =
        |kernels: &str| desk.run(&["inspect", "small.tflite", "--kernels", kernels, "--json"]).json();
    let note = &inspect("reference")["plan_note"];
    assert_eq!((&note["kernels"], &note["serves"]), (&json!("reference"), &json!(true)));
    assert_eq!((&note["arena"], &note["bound"]), (&made["after"]["arena"], &made["bound"]));
    assert_eq!(inspect("cmsis-nn")["plan_note"]["serves"], false);
    let warning = "was made for kernels `reference`";
    for command in [&["inspect", "small.tflite"][..], &["optimize", "small.tflite"]] {
        let run = desk.run(command);
        assert!(run.stdout.contains(warning) && run.stdout.contains("results may be wrong"), "{run:?}");
        let run = desk.run(&[command, &["--kernels", "reference"]].concat());
        assert!(!run.stdout.contains(warning), "{run:?}");
    }
    desk.run(&["optimize", "small.tflite", "--plan", "plan.json"]);
    assert!(desk.run(&["check", "plan.json", "small.tflite"]).stdout.contains(warning));
    // With the plan goes the note, or it is right as it is.
    desk.run(&["optimize", "small.tflite", "--kernels", "any", "-o", "again.tflite"]);
    let again = desk.run(&["inspect", "again.tflite", "--json"]).json();
    assert!(again["plan_note"].is_null() || again["plan_note"]["serves"] == true, "{again}");
}

#[test]
fn a_plan_for_other_kernels_fits_nothing_and_is_warned_of() {
    let desk = desk_with("mobilenet?resolution=32", &["--int8"]);
    let optimize = |kernels: &str, more: &[&str]| {
        let args = ["optimize", "net.tflite", "--kernels", kernels, "-o", "small.tflite"];
        desk.run(&[&args, more].concat())
    };
    let warning = "this plan is for `reference` kernels; with `cmsis-nn`, ";
    let written = optimize("reference", &[]);
    assert!(written.stdout.contains(warning), "{written:?}");
    let avoid = optimize("reference", &["--json"]).json()["unsafe_kernels"].clone();
    assert!(avoid.as_array().unwrap().contains(&json!("cmsis-nn")), "{avoid}");
    let within = |kernels: &str, more: &[&str]| {
        let args = ["inspect", "small.tflite", "--budget", "10MB", "--kernels", kernels];
        desk.run(&[&args, more].concat())
    };
    let right = within("reference", &[]);
    assert!(right.code == 0 && right.stdout.contains("fits 10 MB"), "{right:?}");
    let wrong = within("cmsis-nn", &[]);
    assert!(wrong.code == 1 && wrong.stdout.contains("does not fit 10 MB as planned: "), "{wrong:?}");
    let wrong = within("cmsis-nn", &["--json"]).json();
    assert_eq!(wrong["fits"], false);
    assert!(wrong["plan_fault"].as_str().unwrap().contains("was made for kernels `reference`"), "{wrong}");
    // A plan that is safe with all kernels needs no warning.
    assert_eq!(optimize("any", &["--json"]).json()["unsafe_kernels"], json!([]));
    assert!(!optimize("any", &[]).stdout.contains("this plan is for"));
}

#[test]
fn kernels_belong_to_their_runtime() {
    let desk = desk_with("swiftnet-c", &["--int8"]);
    let litert =
        |kernels: &str| desk.run(&["inspect", "net.tflite", "--runtime", "litert", "--kernels", kernels]);
    let counted = litert("reference");
    assert!(
        counted.code == 0 && counted.stdout.contains("counted with LiteRT's reference kernels"),
        "{counted:?}"
    );
    for (kernels, why) in [
        ("builtin", "built-in optimised kernels are not modelled"),
        ("xnnpack", "XNNPACK is not modelled"),
        ("cmsis-nn", "LiteRT has no kernels `cmsis-nn`"),
    ] {
        let run = litert(kernels);
        assert!(run.code == 2 && run.stderr.contains(why), "{run:?}");
    }
    let run = desk.run(&["inspect", "net.tflite", "--kernels", "xnnpack"]);
    assert!(run.code == 2 && run.stderr.contains("kernels `xnnpack` are LiteRT's"), "{run:?}");
}
