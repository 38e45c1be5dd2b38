//! Output for people: text as wide as their terminal, in colour where it can be shown.
//!
//! Commands write whole lines, as long as they are, and may [mark](layout) where what follows is to hang and what is a
//! command. Colours are escapes from [`style`]: text from models is made [printable](crate::printable) and holds none.
//! In a pipe or a file lines stay whole and have no colour, for programs that look for them; `COLUMNS` and
//! `CLICOLOR_FORCE` ask for the other.

pub(crate) mod layout;
pub(crate) mod style;

use anstream::{AutoStream, ColorChoice};
use std::io::{self, Write};

/// So wide are pictures where nothing says how wide they may be.
const WIDTH_OF_PICTURES: usize = 100;

/// The columns that text may take on standard output; `None` if it is no terminal.
pub(crate) fn width() -> Option<usize> {
    columns_of(terminal_size::terminal_size_of(io::stdout()))
}

/// The columns that pictures may take on standard output, also if it is no terminal.
pub(crate) fn picture_width() -> usize {
    width().unwrap_or(WIDTH_OF_PICTURES)
}

/// The columns that text may take on standard error; `None` if it is no terminal.
pub(crate) fn error_width() -> Option<usize> {
    columns_of(terminal_size::terminal_size_of(io::stderr()))
}

fn columns_of(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    terminal.map(|(width, _)| usize::from(width.0).max(1)).or_else(columns_asked_for)
}

fn columns_asked_for() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns > 0)
}

/// Lays lines out as they are finished.
pub(crate) struct Screen<W> {
    out: W,
    /// A line that is not finished.
    line: Vec<u8>,
    width: Option<usize>,
    is_coloured: bool,
    is_quiet: bool,
}

impl<W: Write> Screen<W> {
    /// Standard output for people.
    pub(crate) fn new(out: W) -> Self {
        let is_coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        Self { out, line: Vec::new(), width: width(), is_coloured, is_quiet: false }
    }

    /// Standard output for programs: every line as it is.
    pub(crate) fn plain(out: W) -> Self {
        Self { out, line: Vec::new(), width: None, is_coloured: false, is_quiet: false }
    }

    /// Standard output that shows nothing.
    pub(crate) fn quiet(out: W) -> Self {
        Self { is_quiet: true, ..Self::plain(out) }
    }

    fn lay_out(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if self.is_quiet {
            return Ok(());
        }
        let text = layout::lines(&String::from_utf8_lossy(&line), self.width);
        let text = if self.is_coloured { text.into() } else { style::without_colour(&text) };
        self.out.write_all(text.as_bytes())
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.lay_out()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lay_out()?;
        self.out.flush()
    }
}

/// Writes lines to standard error as it can show them.
pub(crate) fn say(text: &str) {
    let is_coloured = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let mut all = String::new();
    for line in text.split_inclusive('\n') {
        all.push_str(&layout::lines(line, error_width()));
    }
    let all = if is_coloured { all.into() } else { style::without_colour(&all) };
    // There is nobody left to tell if this fails.
    let _ = io::stderr().lock().write_all(all.as_bytes());
}
