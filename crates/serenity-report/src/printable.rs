//! Text from model files and from users, made safe to print and to type.

use std::borrow::Cow;

/// `text` with everything escaped that could move the cursor, colour the screen, end the line or turn the direction of
/// writing. Model files are untrusted: a name must look like a name and nothing else. (JSON output escapes its texts
/// anyway.)
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// A word as it must be typed in a shell.
pub fn for_shell(word: &str) -> String {
    let word = printable(word);
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn is_unsafe(c: char) -> bool {
    // Control characters, line and paragraph separators, and what overrides the direction of text.
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_and_control_characters_go() {
        assert!(matches!(printable("stage1/conv é 漢"), Cow::Borrowed(_)));
        assert_eq!(printable("a\x1b[2Jb\nc\td\u{9b}\u{202e}"), r"a\u{1b}[2Jb\nc\td\u{9b}\u{202e}");
    }

    #[test]
    fn a_word_of_a_shell_stays_one_word() {
        let words = ["net.tflite", "my net", "it's", ""].map(for_shell);
        assert_eq!(words, ["net.tflite", "'my net'", r"'it'\''s'", "''"]);
    }
}
