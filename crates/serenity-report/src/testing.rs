//! A look at XML that is just strict enough for what is written here.

/// Panics unless every element is closed in its turn, attributes are quoted, and no `&` or `<` stands bare.
pub(crate) fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml.trim_end();
    while let Some(at) = rest.find('<') {
        assert_text(&rest[..at]);
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "elements are closed in turn");
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(!tag.contains('<') && name.chars().all(|c| c.is_ascii_alphanumeric()), "`{tag}` is a tag");
        assert_eq!(attributes.matches('"').count() % 2, 0, "`{tag}` has its attributes in quotes");
        assert_text(attributes);
        if !is_empty {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.is_empty(), "all is closed: {open:?} {rest}");
}

fn assert_text(text: &str) {
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "no control characters");
    for (at, _) in text.match_indices('&') {
        let entity = text[at + 1..].split(';').next().unwrap_or("");
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "`&{entity}` is an entity");
    }
    assert!(!text.contains("NaN") && !text.contains("inf\""), "no number that is none");
}
