//! Names of a model as parts of C: nothing in them can end a comment, a text or an identifier.

/// Identifiers are cut off here.
const LONGEST: usize = 40;
/// Names in comments are cut off here.
const LONGEST_IN_COMMENT: usize = 100;

/// Letters, digits and underscores of a name, one underscore for what is in between; never empty, never beginning with a digit.
pub(crate) fn identifier(name: &str) -> String {
    let mut result = String::new();
    for character in name.chars() {
        if result.len() == LONGEST {
            break;
        }
        if character.is_ascii_alphanumeric() {
            result.push(character.to_ascii_lowercase());
        } else if !result.ends_with('_') && !result.is_empty() {
            result.push('_');
        }
    }
    let result = result.trim_end_matches('_');
    match result.chars().next() {
        None => "model".to_owned(),
        Some('0'..='9') => format!("m{result}"),
        Some(_) => result.to_owned(),
    }
}

/// What all names of a model's code begin with, made of the name of its file.
///
/// ```
/// assert_eq!(serenity_emit::prefix_of("models/My net-2.tflite"), "my_net_2");
/// assert_eq!(serenity_emit::prefix_of("*/"), "model");
/// ```
pub fn prefix_of(path: &str) -> String {
    let file = path.rsplit(['/', '\\', ':']).next().unwrap_or(path);
    identifier(file.rsplit_once('.').map_or(file, |(stem, _)| stem))
}

/// The last part of a name such as `model/conv1/Relu;model/bn/batch`, as an identifier.
pub(crate) fn short(name: &str) -> String {
    let first = name.split(';').next().unwrap_or(name);
    let mut parts = first.rsplit('/').filter(|part| part.chars().any(|c| c.is_ascii_alphanumeric()));
    match (parts.next(), parts.next()) {
        (Some(last), Some(before)) => identifier(&format!("{before}_{last}")),
        (Some(last), None) => identifier(last),
        _ => "unnamed".to_owned(),
    }
}

/// A name as it may stand in a comment: printable ASCII without what could end the comment, the line, or be a trigraph.
pub(crate) fn in_comment(name: &str) -> String {
    let plain = |character: char| match character {
        '*' | '\\' | '?' | '`' | '"' | '\'' => '_',
        ' '..='~' => character,
        _ => '_',
    };
    let mut result: String = name.chars().take(LONGEST_IN_COMMENT).map(plain).collect();
    if name.chars().nth(LONGEST_IN_COMMENT).is_some() {
        result.push_str("...");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_harmless() {
        assert_eq!(identifier("int"), "int");
        assert_eq!(identifier("*/ system(\"x\"); /*"), "system_x");
        assert_eq!(identifier("3d\nnet"), "m3d_net");
        assert_eq!(identifier("\u{202e}"), "model");
        assert_eq!(identifier(&"a".repeat(10_000)).len(), LONGEST);
        assert_eq!(in_comment("a*/b\\\n??/'\""), "a_/b____/__");
        assert!(in_comment(&"*/".repeat(10_000)).len() < 120);
        assert_eq!(short("model/a/Relu;x/y"), "a_relu");
        assert_eq!(short("///"), "unnamed");
    }
}
