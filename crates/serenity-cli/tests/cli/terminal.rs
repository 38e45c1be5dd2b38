//! A real terminal: what is shown while something takes long, and that it is wiped.
#![cfg(target_os = "linux")]

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

/// What a terminal of so many columns is sent by a command.
fn typed(columns: u16, args: &[&str]) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = || Stdio::from(open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_serenity"))
        .args(args)
        .env("SERENITY_PYTHON", "no-python-here")
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(theirs())
        .stderr(theirs())
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    // When nobody can write to it any more, reading ends in an error.
    let _ = File::from(ours).read_to_end(&mut shown);
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

/// A search that is not over soon, ended by its limit.
const LONG: [&str; 6] =
    ["schedule", "zoo:randwire-cifar10?seed=1&nodes=96&k=6", "--algorithm", "dp", "--time-limit", "4"];

#[test]
fn a_long_search_shows_one_line_that_fits_and_wipes_it() {
    for (columns, promise) in [(140, "Ctrl-C keeps the best"), (80, "Ctrl-C keeps the best"), (40, " ≥ ")] {
        let shown = typed(columns, &LONG);
        let lines: Vec<&str> = shown.split("\r\x1b[2K").collect();
        assert!(lines.len() > 4, "{columns}: {shown:?}");
        for line in &lines[1..lines.len() - 1] {
            assert!(
                line.chars().count() < usize::from(columns) && !line.contains('\n'),
                "{columns}: {line:?}"
            );
        }
        assert!(lines.iter().any(|line| line.contains(promise)), "{columns}: {shown:?}");
        let last = lines.last().unwrap();
        assert!(
            last.contains("peak") && last.contains("order"),
            "{columns}: the line is not wiped: {last:?}"
        );
    }
}

#[test]
fn a_terminal_has_colours_and_text_as_wide_as_it_is() {
    let shown = typed(60, &["optimize", "zoo:swiftnet-a"]);
    assert!(shown.contains("\x1b[1mswiftnet-a\x1b[0m"), "{shown:?}");
    let result = shown.rsplit("\x1b[2K").next().unwrap();
    for line in widths(result) {
        assert!(line <= 60, "{shown}");
    }
}

fn widths(shown: &str) -> impl Iterator<Item = usize> {
    let without_colour = |line: &str| {
        let mut parts = line.split('\x1b');
        let first = parts.next().unwrap_or_default().chars().count();
        first
            + parts
                .map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.chars().count()))
                .sum::<usize>()
    };
    shown.lines().map(move |line| without_colour(line.trim_end_matches('\r'))).collect::<Vec<_>>().into_iter()
}

#[test]
fn quiet_is_quiet() {
    let mut args = LONG.to_vec();
    args.push("--quiet");
    assert_eq!(typed(80, &args), "");
}
