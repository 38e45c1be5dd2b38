//! Colours, none of which is needed to understand the text.

use anstyle::{AnsiColor, Style};
use std::borrow::Cow;

/// What is spoken of.
pub(crate) const TITLE: Style = Style::new().bold();
/// Better, proved, fits.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Does not fit, does not work.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// To be looked at.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// To be typed.
pub(crate) const TYPED: Style = AnsiColor::Cyan.on_default();

pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

const ESCAPE: char = '\x1b';

/// Text without what colours it.
pub(crate) fn without_colour(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(ESCAPE);
    let first = pieces.next().unwrap_or_default().to_owned();
    // Every escape ends with the letter that says what it does.
    let after_escape = |piece: &str| piece.split_once('m').map_or(String::new(), |(_, rest)| rest.to_owned());
    Cow::Owned(pieces.fold(first, |text, piece| text + &after_escape(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_painted_can_be_stripped() {
        let text = format!("a {} b {}", paint(GOOD, "proved"), paint(TITLE, "m"));
        assert!(text.contains("\x1b[32mproved"), "{text:?}");
        assert_eq!(without_colour(&text), "a proved b m");
        assert!(matches!(without_colour("plain"), Cow::Borrowed(_)));
    }
}
