//! What goes wrong around a command: signals, links, streams that are files, names that are no text. Nothing is lost or
//! left behind.

use crate::harness::Desk;

/// The mark that some editors put before a text.
const MARK: &str = "\u{feff}";

#[test]
fn a_mark_before_the_text_is_no_part_of_it() {
    let desk = Desk::new();
    desk.run(&["zoo", "export", "swiftnet-a", "-o", "net.json"]);
    let graph = desk.read("net.json");
    desk.write("marked.json", &format!("{MARK}{graph}"));
    desk.write("plan.json", &format!("{MARK}{}", desk.run(&["schedule", "net.json", "--json"]).stdout));
    desk.write("table.csv", &format!("{MARK}id,lower,upper,size\r\na,0,2,30\r\n"));
    for args in [
        &["inspect", "marked.json"][..],
        &["check", "plan.json", "marked.json", "--deep"],
        &["place", "table.csv"],
    ] {
        let run = desk.run(args);
        assert_eq!(run.code, 0, "{args:?} {run:?}");
    }
    let piped = desk.run_with_input(&["inspect", "-"], &format!("{MARK}{graph}"));
    assert_eq!(piped.code, 0, "{piped:?}");
}

#[test]
fn a_shape_that_its_operator_does_not_make_is_refused() {
    let desk = Desk::new();
    let run = desk.run(&["zoo", "export", "swiftnet-a", "--int8", "-o", "net.tflite"]);
    assert_eq!(run.code, 0, "{run:?}");
    let whole = std::fs::read(desk.path("net.tflite")).unwrap();
    let graph = desk.run(&["optimize", "net.tflite", "--no-rewrite", "--no-reorder", "-o", "net.json"]);
    assert_eq!(graph.code, 0, "{graph:?}");
    let graph: serde_json::Value = serde_json::from_str(&desk.read("net.json")).unwrap();
    // The result of the last convolution, as a file holds a shape: how many extents, then each.
    let op = graph["ops"].as_array().unwrap().iter().rfind(|op| op["type"] == "CONV_2D").unwrap();
    let tensor = &graph["tensors"][usize::try_from(op["outputs"][0].as_u64().unwrap()).unwrap()];
    let shape: Vec<u32> = tensor["shape"]
        .as_array()
        .unwrap()
        .iter()
        .map(|extent| u32::try_from(extent.as_u64().unwrap()).unwrap())
        .collect();
    let bytes: Vec<u8> =
        std::iter::once(&4).chain(&shape).flat_map(|extent: &u32| extent.to_le_bytes()).collect();
    let places: Vec<usize> =
        (0..whole.len() - bytes.len()).filter(|&at| whole[at..].starts_with(&bytes)).collect();
    assert!(!places.is_empty());
    for at in places {
        let mut changed = whole.clone();
        changed[at + 8] += 1;
        std::fs::write(desk.path("changed.tflite"), changed).unwrap();
        let run = desk.run(&["optimize", "changed.tflite", "-o", "out.tflite"]);
        assert_eq!((run.code, desk.path("out.tflite").exists()), (2, false), "{run:?}");
        assert!(run.stderr.contains("operator ") && run.stderr.contains("is declared as ["), "{run:?}");
    }
}

#[cfg(unix)]
mod unix {
    use crate::harness::{Desk, has_ended, let_work, signal};
    use serde_json::Value;
    use serenity_judges::{Need, skip};
    use std::ffi::OsStr;
    use std::fs::{File, OpenOptions};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// Ends a command that goes on after so many seconds of the processor.
    const LIMITED: &str = r#"ulimit -t 60; exec "$0" "$@""#;
    /// Time of the processor after which a search is under way.
    const UNDER_WAY: Duration = Duration::from_millis(1500);
    /// A search that would go on for ever.
    const ENDLESS: [&str; 6] = [
        "zoo:randwire-cifar10?nodes=160&seed=1",
        "--no-rewrite",
        "--time-limit",
        "none",
        "--effort",
        "1000000",
    ];

    fn command(desk: &Desk) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", LIMITED, env!("CARGO_BIN_EXE_serenity")]);
        command.current_dir(desk.path(".")).env("SERENITY_PYTHON", "no-python-here");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Is a closed terminal nothing to those whom we start, as under `nohup`? Only Linux tells; where it is, that is said.
    fn ignores_closed_terminals() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let is_ignored =
            mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1);
        if is_ignored {
            skip(Need::Hangups, "SIGHUP is ignored by whoever runs the tests");
        }
        is_ignored
    }

    #[test]
    fn a_search_that_is_told_to_end_keeps_its_best() {
        for name in ["-TERM", "-HUP"] {
            if name == "-HUP" && ignores_closed_terminals() {
                continue;
            }
            let desk = Desk::new();
            let args = ["-o", "best.json", "--plan", "plan.json"];
            let mut child = command(&desk).arg("optimize").args(ENDLESS).args(args).spawn().unwrap();
            let_work(&mut child, UNDER_WAY);
            signal(&child, name);
            assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
            assert_eq!(desk.files(), ["best.json", "plan.json"], "{name}");
            let plan: Value = serde_json::from_str(&desk.read("plan.json")).unwrap();
            assert!(plan["stopped"].as_str().unwrap().contains("cancelled"), "{}", plan["stopped"]);
        }
    }

    /// Nobody reads the pipe, so that the command waits with a file that is written but not in its place.
    #[test]
    fn the_second_signal_ends_the_program_and_leaves_nothing() {
        for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            if name == "-HUP" && ignores_closed_terminals() {
                continue;
            }
            let desk = Desk::new();
            desk.write("out.json", "precious");
            assert!(Command::new("mkfifo").arg(desk.path("pipe")).status().unwrap().success());
            let args = ["optimize", "zoo:swiftnet-b", "-o", "out.json", "--plan", "pipe"];
            let mut child = command(&desk).args(args).spawn().unwrap();
            while desk.files().len() < 3 {
                assert!(!has_ended(&mut child), "it did not wait for a reader");
                std::thread::sleep(Duration::from_millis(20));
            }
            signal(&child, name);
            // Two that come at once may be taken for one.
            std::thread::sleep(Duration::from_millis(300));
            signal(&child, name);
            assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
            assert_eq!(
                (desk.files(), desk.read("out.json").as_str()),
                (vec!["out.json".into(), "pipe".into()], "precious")
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_started_to_outlive_its_terminal_does() {
        let desk = Desk::new();
        let child = Command::new("sh")
            .args(["-c", &format!(r#"trap "" HUP; {LIMITED}"#), env!("CARGO_BIN_EXE_serenity"), "schedule"])
            .args(ENDLESS.iter().filter(|arg| **arg != "--no-rewrite"))
            .current_dir(desk.path("."))
            .stdout(Stdio::null())
            .spawn();
        let mut child = child.unwrap();
        let_work(&mut child, UNDER_WAY);
        signal(&child, "-HUP");
        let_work(&mut child, 2 * UNDER_WAY);
        assert_eq!(child.try_wait().unwrap(), None);
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn a_link_stays_a_link() {
        let desk = Desk::new();
        std::fs::create_dir(desk.path("far")).unwrap();
        desk.write("far/old.json", "old");
        let links = [
            ("to-old.json", "far/old.json"),
            ("to-new.json", "far/new.json"),
            ("to-link.json", "to-new.json"),
            ("to-page.html", "far/page.html"),
            ("nowhere.json", "no/such/folder.json"),
            ("circle.json", "circle.json"),
        ];
        for (link, to) in links {
            symlink(to, desk.path(link)).unwrap();
        }
        let args = ["optimize", "zoo:swiftnet-a", "-o", "to-old.json", "--plan", "to-link.json", "--report"];
        let run = desk.run(&[&args[..], &["to-page.html"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        for (args, message) in [
            (&["-o", "nowhere.json"][..], "it is a link to `no/such/folder.json`, and there is no folder"),
            (&["--plan", "circle.json"], "leads in a circle"),
            (&["-o", "to-new.json", "--plan", "far/new.json"], "would both be written"),
        ] {
            let run = desk.run(&[&["optimize", "zoo:swiftnet-a"], args].concat());
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
            assert!(run.stderr.contains(message), "{run:?}");
        }
        for (link, to) in links {
            assert_eq!(std::fs::read_link(desk.path(link)).unwrap(), OsStr::new(to));
        }
        assert!(
            desk.read("far/old.json").contains("tensors")
                && desk.read("far/new.json").contains("serenity.plan")
        );
        let mut names: Vec<_> =
            std::fs::read_dir(desk.path("far")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["new.json", "old.json", "page.html"]);
    }

    /// What standard output, redirected to a file, holds at the end.
    fn redirected(desk: &Desk, args: &[&str], is_appended: bool) -> (i32, String) {
        let path = desk.path("out.txt");
        std::fs::write(&path, "first\n").unwrap();
        let file = if is_appended {
            OpenOptions::new().append(true).open(&path).unwrap()
        } else {
            File::create(&path).unwrap()
        };
        let status = command(desk).args(args).stdout(file).status().unwrap();
        (status.code().unwrap(), desk.read("out.txt"))
    }

    #[test]
    fn a_plan_on_standard_output_comes_before_the_report_and_nothing_is_lost() {
        let desk = Desk::new();
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            if name != "-" && !std::path::Path::new(name).exists() {
                continue;
            }
            for is_appended in [false, true] {
                let (code, text) =
                    redirected(&desk, &["optimize", "zoo:swiftnet-b", "--plan", name], is_appended);
                assert_eq!(code, 0, "{name}: {text}");
                let text = text.strip_prefix("first\n").map_or(text.as_str(), |rest| {
                    assert!(is_appended);
                    rest
                });
                let (plan, report) = text.split_once('\n').unwrap();
                let plan: Value = serde_json::from_str(plan).unwrap();
                assert_eq!(plan["schema"], "serenity.plan/1", "{name}");
                assert!(
                    report.starts_with("swiftnet-b: ") && report.contains("memory over time"),
                    "{name}: {report}"
                );
            }
            let quiet = desk.run(&["optimize", "zoo:swiftnet-b", "--plan", name, "--quiet"]);
            assert_eq!((quiet.code, quiet.stdout.lines().count()), (0, 1), "{name}: {quiet:?}");
        }
        assert_eq!(desk.files(), ["out.txt"]);
        // A graph that comes through a pipe is not what is written.
        let graph = desk.run(&["zoo", "export", "swiftnet-b", "-o", "net.json"]);
        assert_eq!(graph.code, 0);
        let piped = desk.run_with_input(&["optimize", "-", "--plan", "-", "-q"], &desk.read("net.json"));
        assert_eq!((piped.code, piped.stdout.lines().count()), (0, 1), "{piped:?}");
    }

    #[test]
    fn a_file_that_the_shell_writes_to_is_not_replaced() {
        let desk = Desk::new();
        for (option, is_appended) in [("--plan", true), ("--plan", false), ("--emit-header", true)] {
            let args = ["optimize", "zoo:swiftnet-b", "--runtime", "tflm", option, "out.txt"];
            let (code, text) = redirected(&desk, &args, is_appended);
            assert_eq!((code, text.as_str()), (2, if is_appended { "first\n" } else { "" }));
        }
        // Twice the same.
        let run = desk.run(&["optimize", "zoo:swiftnet-b", "--plan", "-", "--emit-header", "/dev/stdout"]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains("both be written"), "{run:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_somebody_else_has_opened_is_written_behind_what_is_there() {
        let desk = Desk::new();
        desk.write("log.txt", "first\n");
        let script = r#""$0" optimize zoo:swiftnet-b -q --plan /dev/fd/3 3>> log.txt"#;
        let status = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_serenity")])
            .current_dir(desk.path("."))
            .status()
            .unwrap();
        assert!(status.success());
        let log = desk.read("log.txt");
        assert!(log.starts_with("first\n{") && log.ends_with("}\n") && log.lines().count() == 2, "{log}");
        assert_eq!(desk.files(), ["log.txt"]);
    }

    #[test]
    fn a_name_that_is_no_text_is_named() {
        let desk = Desk::new();
        let name = OsStr::from_bytes(b"net\xff.json");
        for args in [&["inspect"][..], &["optimize", "zoo:swiftnet-b", "-o"], &["check", "plan.json"]] {
            let output = command(&desk).args(args).arg(name).stderr(Stdio::piped()).output().unwrap();
            let talk = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{talk}");
            let message = format!(r"error: argument {}, `net\xFF.json`, is not UTF-8 text", args.len() + 1);
            assert!(talk.starts_with(&message) && talk.contains("help: "), "{talk}");
        }
        assert_eq!(desk.files(), Vec::<String>::new());
    }
}
