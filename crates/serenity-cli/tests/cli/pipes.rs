//! A reader that closes the pipe does not turn failure into success.

use crate::harness::Desk;
use std::process::{Command, Stdio};

/// The exit code with standard output closed by its reader before anything is said, and what was said on standard error.
fn unread(desk: &Desk, args: &[&str]) -> (i32, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_serenity"))
        .args(args)
        .current_dir(desk.path("."))
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_closed_pipe_changes_no_exit_code() {
    let desk = Desk::new();
    desk.write("table.csv", "id,lower,upper,size\na,0,2,30\nb,1,3,20\n");
    desk.write("bad.json", "{");
    desk.write("plan.json", &desk.run(&["schedule", "zoo:swiftnet-b", "--json"]).stdout);
    desk.write("wrong.json", &desk.read("plan.json").replace(r#""peak":75264"#, r#""peak":75263"#));
    for (code, args) in [
        (1, &["check", "wrong.json", "zoo:swiftnet-b"][..]),
        (1, &["check", "wrong.json", "zoo:swiftnet-b", "--json"]),
        (1, &["optimize", "zoo:swiftnet-a", "--budget", "1KB"]),
        (1, &["optimize", "zoo:swiftnet-a", "--budget", "1KB", "--json"]),
        (1, &["place", "table.csv", "--capacity", "1"]),
        (1, &["place", "table.csv", "--capacity", "1", "--json"]),
        (2, &["check", "plan.json", "nowhere.json", "--json"]),
        (2, &["optimize", "bad.json", "--json"]),
        (2, &["inspect", "bad.json", "--json"]),
        (2, &["place", "bad.json", "--json"]),
        (2, &["traffic", "bad.json", "--json"]),
        (2, &["sample", "bad.json", "--json"]),
        (2, &["verify", "bad.json", "bad.json", "--json"]),
        (2, &["zoo", "export", "nothing", "-o", "x.json", "--json"]),
        (2, &["optimize", "--json"]),
        // The second input fails after the first was told to nobody.
        (2, &["schedule", "zoo:swiftnet-a", "bad.json", "zoo:swiftnet-b"]),
        (2, &["schedule", "zoo:swiftnet-a", "bad.json", "zoo:swiftnet-b", "--json"]),
        (0, &["check", "plan.json", "zoo:swiftnet-b", "--deep"]),
        (0, &["optimize", "zoo:swiftnet-a", "--budget", "1MB", "-o", "small.json"]),
        (0, &["inspect", "zoo:swiftnet-a", "--steps"]),
        (0, &["zoo", "list"]),
        (0, &["completions", "bash"]),
        (0, &["schema"]),
        (0, &["man", "--out", "man"]),
        (0, &["--help"]),
    ] {
        let (found, talk) = unread(&desk, args);
        assert_eq!(found, code, "{args:?}: {talk}");
        assert_eq!(talk.starts_with("error: "), code == 2, "{args:?}: {talk}");
        assert!(!talk.contains("pipe") && !talk.contains("panicked"), "{args:?}: {talk}");
    }
    // The work was done.
    assert!(desk.path("small.json").exists() && desk.path("man/serenity-zoo-list.1").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_serenity")).args(["zoo", "list"]).stdout(full).output().unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.starts_with("error: cannot write to standard output"), "{talk}");
}
