//! The parts of a document that tests can run: fenced blocks and tables, each with what the comments before it ask for.

use std::ops::Range;

/// A fenced block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// Of its fence, counted from 1.
    pub(crate) line: usize,
    pub(crate) language: String,
    /// What the comments right before it say: `<!-- NAME: VALUE -->`.
    pub(crate) directives: Vec<(String, String)>,
    pub(crate) text: String,
    /// Where `text` stands in the document.
    pub(crate) range: Range<usize>,
}

/// A table that a comment names: `<!-- table: NAME -->`.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) line: usize,
    pub(crate) name: String,
    /// Below the line that divides it from the head.
    pub(crate) rows: Vec<Vec<String>>,
    /// Where the rows stand in the document.
    pub(crate) range: Range<usize>,
}

impl Block {
    pub(crate) fn directive(&self, name: &str) -> Option<&str> {
        self.directives.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Each line with its number and where it begins.
fn lines(document: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    document.split_inclusive('\n').enumerate().map(move |(number, line)| {
        at += line.len();
        (number + 1, at - line.len(), line.trim_end_matches('\n'))
    })
}

fn directive(line: &str) -> Option<(String, String)> {
    let (name, value) = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.split_once(':')?;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}

/// The lines outside of fenced blocks, each with its number; those among which inline code is wrapped as one.
pub(crate) fn prose(document: &str) -> Vec<(usize, String)> {
    let mut is_open = false;
    let mut found: Vec<(usize, String)> = Vec::new();
    for (number, _, line) in lines(document) {
        let is_fence = line.trim_start().starts_with("```");
        if !is_open && !is_fence {
            match found.last_mut().filter(|(_, text)| text.matches('`').count() % 2 == 1) {
                Some((_, text)) => text.extend([" ", line]),
                None => found.push((number, line.to_owned())),
            }
        }
        is_open ^= is_fence;
    }
    found
}

/// All fenced blocks, in order.
pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut directives = Vec::new();
    let mut open: Option<Block> = None;
    for (number, at, line) in lines(document) {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some(_), Some(_)) => {
                let mut block = open.take().unwrap();
                block.range.end = at;
                document[block.range.clone()].clone_into(&mut block.text);
                blocks.push(block);
            }
            (Some(_), None) => {}
            (None, Some(language)) => {
                let begin = at + line.len() + 1;
                open = Some(Block {
                    line: number,
                    language: language.trim().to_owned(),
                    directives: std::mem::take(&mut directives),
                    text: String::new(),
                    range: begin..begin,
                });
            }
            (None, None) => match directive(line) {
                Some(found) => directives.push(found),
                None => directives.clear(),
            },
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// All tables with a name, in order.
pub(crate) fn tables(document: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut named: Option<(usize, String)> = None;
    let mut divided = false;
    for (number, at, line) in lines(document) {
        if let Some(("table", name)) = directive(line).as_ref().map(|(key, name)| (key.as_str(), name)) {
            named = Some((number, name.clone()));
            divided = false;
        } else if named.is_some() && line.starts_with('|') {
            let cells: Vec<String> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            if !divided {
                divided = cells.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)));
                if divided {
                    let (line, name) = named.clone().unwrap();
                    let begin = at + document[at..].find('\n').unwrap() + 1;
                    tables.push(Table { line, name, rows: Vec::new(), range: begin..begin });
                }
            } else if let Some(table) = tables.last_mut() {
                table.rows.push(cells);
                table.range.end = at + line.len() + 1;
            }
        } else {
            assert!(named.is_none() || divided, "line {number}: no table follows the comment that names one");
            named = None;
        }
    }
    tables
}

/// How many commands and rows a document gives to be checked; what it says is not run is none of them.
pub(crate) fn claims(document: &str) -> usize {
    let blocks = blocks(document).into_iter().filter(|block| block.directive("not run").is_none());
    let commands = blocks.map(|block| match block.language.as_str() {
        "console" => block.text.lines().filter(|line| line.starts_with("$ ")).count(),
        "sh" => block.text.lines().filter(|line| !line.trim().is_empty()).count(),
        _ => 0,
    });
    commands.sum::<usize>() + tables(document).iter().map(|table| table.rows.len()).sum::<usize>()
}

/// A row as it is written.
pub(crate) fn row(cells: &[String]) -> String {
    let cells: Vec<String> =
        cells.iter().map(|cell| if cell.is_empty() { " ".to_owned() } else { format!(" {cell} ") }).collect();
    format!("|{}|\n", cells.join("|"))
}

#[test]
fn blocks_are_found_with_what_is_asked_of_them() {
    let document = "# A\n\n<!-- not run: it takes a day -->\n<!-- file: x.py -->\n```console\n$ one\ntwo\n```\n\n<!-- file: y -->\ntext\n```\n```\n";
    let found = blocks(document);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].line, found[0].language.as_str(), found[0].text.as_str()),
        (5, "console", "$ one\ntwo\n")
    );
    assert_eq!(
        (found[0].directive("not run"), found[0].directive("file")),
        (Some("it takes a day"), Some("x.py"))
    );
    assert_eq!((found[1].directive("file"), found[1].text.as_str()), (None, ""));
}

#[test]
fn tables_are_found_by_their_names() {
    let document =
        "| a |\n|---|\n| 1 |\n\n<!-- table: b -->\n| b | |\n|---|---:|\n| 2 | 3 |\n| 4 | |\n\nend\n";
    let found = tables(document);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].name.as_str(), found[0].line, &found[0].rows[1]),
        ("b", 5, &vec!["4".to_owned(), String::new()])
    );
    assert_eq!(&document[found[0].range.clone()], "| 2 | 3 |\n| 4 | |\n");
    assert_eq!(row(&found[0].rows[1]), "| 4 | |\n");
}
