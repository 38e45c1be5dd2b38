//! Wraps long lines at words.

use textwrap::{Options, WordSplitter, WrapAlgorithm, core::display_width};

/// Stands in a line before what hangs under itself if it takes several lines: the remark of a row, say.
pub(crate) const HANG: char = '\x1f';
/// Stands before a command for a shell, which can be copied however many lines it takes. A [`HANG`] ends it.
pub(crate) const COMMAND: char = '\x1e';

/// What hangs has at least so much room, or goes below.
const LEAST_ROOM: usize = 16;

/// A line as it is shown in so many columns, without marks.
pub(crate) fn lines(line: &str, width: Option<usize>) -> String {
    let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
    let bare: String = line.chars().filter(|&c| c != HANG && c != COMMAND).collect();
    let broken = match width {
        Some(width) if display_width(&bare) > width => broken(line, width),
        _ => bare,
    };
    broken + end
}

fn broken(line: &str, width: usize) -> String {
    if let Some((label, command)) = line.split_once(COMMAND) {
        let (command, remark) = command.split_once(HANG).unwrap_or((command, ""));
        return command_lines(label, command, remark.trim_start(), width);
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let Some((first, remark)) = line.split_once(HANG) else {
        let bullet = if line[indent..].starts_with("- ") { 2 } else { 0 };
        return filled(&line[indent..], &" ".repeat(indent), &" ".repeat(indent + bullet), width);
    };
    let column = display_width(first);
    if column + LEAST_ROOM <= width {
        return filled(remark, first, &" ".repeat(column), width);
    }
    let below = " ".repeat(indent + 4);
    let first = filled(first[indent..].trim_end(), &" ".repeat(indent), &below, width);
    format!("{first}\n{}", filled(remark, &below, &below, width))
}

/// A command goes on behind a backslash.
fn command_lines(label: &str, command: &str, remark: &str, width: usize) -> String {
    let column = display_width(label);
    let (mut text, indent) = if column + LEAST_ROOM <= width {
        (String::new(), label.to_owned())
    } else {
        (format!("{}\n", label.trim_end()), "  ".to_owned())
    };
    let below = " ".repeat(display_width(&indent) + 2);
    let command = filled(&with_values_kept(command), &indent, &below, width.saturating_sub(2));
    text.push_str(&command.replace('\n', " \\\n").replace(GLUE, " "));
    if !remark.is_empty() {
        text.push('\n');
        text.push_str(&filled(remark, &below, &below, width));
    }
    text
}

/// A space at which no line is broken.
const GLUE: char = '\u{a0}';

/// An option and its value stay on one line.
fn with_values_kept(command: &str) -> String {
    let mut text = String::new();
    let mut previous = "";
    for word in command.split(' ') {
        if !text.is_empty() {
            let is_value = previous.starts_with('-') && !word.starts_with('-');
            text.push(if is_value { GLUE } else { ' ' });
        }
        text.push_str(word);
        previous = word;
    }
    text
}

fn filled(text: &str, first: &str, below: &str, width: usize) -> String {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(below)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::style::{GOOD, paint};

    #[test]
    fn words_stay_whole_and_lines_keep_their_indent() {
        assert_eq!(lines("  one two three four\n", Some(10)), "  one two\n  three\n  four\n");
        assert_eq!(lines("- one two three", Some(10)), "- one two\n  three");
        assert_eq!(lines("a_word_that_is_too_long b", Some(10)), "a_word_that_is_too_long\nb");
        assert_eq!(lines("  one two three\n", None), "  one two three\n");
        assert_eq!(lines("\n", Some(1)), "\n");
    }

    #[test]
    fn a_remark_hangs_where_it_begins_or_goes_below() {
        let row = format!("  after  12   {HANG}a remark that takes more than a line\n");
        assert_eq!(
            lines(&row, Some(40)),
            "  after  12   a remark that takes more\n              than a line\n"
        );
        assert_eq!(lines(&row, Some(29)), "  after  12\n      a remark that takes\n      more than a line\n");
        assert_eq!(lines(&row, None), "  after  12   a remark that takes more than a line\n");
    }

    #[test]
    fn a_command_can_be_copied() {
        let line = format!("write it:  {COMMAND}serenity optimize net.tflite -o smaller.tflite{HANG}   so\n");
        assert_eq!(
            lines(&line, Some(40)),
            "write it:  serenity optimize \\\n             net.tflite \\\n             -o smaller.tflite\n             so\n"
        );
        assert_eq!(
            lines(&line, Some(200)),
            "write it:  serenity optimize net.tflite -o smaller.tflite   so\n"
        );
    }

    #[test]
    fn colours_take_no_room() {
        let line = format!("one {} three", paint(GOOD, "two"));
        assert_eq!(lines(&line, Some(13)), line);
    }
}
