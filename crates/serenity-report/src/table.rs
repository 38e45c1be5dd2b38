//! Rows and columns, for people and for spreadsheets.

use std::fmt::Write;

/// To which side a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it holds, with the unit.
    pub name: String,
    /// To which side it is set.
    pub align: Align,
}

impl Column {
    /// A column of texts.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), align: Align::Left }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), align: Align::Right }
    }
}

/// A table. Every row has as many cells as there are columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// A table without rows, its columns named in one text: `cell | #peak, KB`. Those with a `#` hold numbers.
    pub fn titled(names: &str) -> Self {
        Self::new(names.split(" | ").map(|name| match name.strip_prefix('#') {
            Some(name) => Column::number(name),
            None => Column::text(name),
        }))
    }

    /// Adds a row. Cells that are missing are empty; cells beyond the last column are left out.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// The names of all columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// All rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// A table of GitHub's Markdown, its columns padded so that the source is legible too.
    pub fn to_markdown(&self) -> String {
        let head: Vec<String> = self.columns.iter().map(|column| in_markdown(&column.name)).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| in_markdown(cell)).collect()).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| &row[column]).chain([&head[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let mut text = String::new();
        self.line(&mut text, &head, &widths);
        for (column, &width) in self.columns.iter().zip(&widths) {
            let (dashes, end) = match column.align {
                Align::Left => (width + 2, ""),
                Align::Right => (width + 1, ":"),
            };
            let _ = write!(text, "|{}{end}", "-".repeat(dashes));
        }
        text.push_str("|\n");
        for row in &rows {
            self.line(&mut text, row, &widths);
        }
        text
    }

    fn line(&self, text: &mut String, cells: &[String], widths: &[usize]) {
        for ((cell, column), &width) in cells.iter().zip(&self.columns).zip(widths) {
            let _ = match column.align {
                Align::Left => write!(text, "| {cell:<width$} "),
                Align::Right => write!(text, "| {cell:>width$} "),
            };
        }
        text.push_str("|\n");
    }

    /// Comma-separated values with a head line, quoted where they must be (RFC 4180, lines end in a line feed).
    pub fn to_csv(&self) -> String {
        let head: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let mut text = csv_line(head);
        for row in &self.rows {
            text.push_str(&csv_line(row.iter().map(String::as_str)));
        }
        text
    }
}

/// A cell that does not end its column or its row, nor begins a tag.
fn in_markdown(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    for c in cell.chars() {
        match c {
            '|' => text.push_str("\\|"),
            '<' => text.push_str("&lt;"),
            '\n' | '\r' => text.push(' '),
            _ => text.push(c),
        }
    }
    text
}

fn csv_line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(in_csv).collect();
    format!("{}\n", cells.join(","))
}

fn in_csv(cell: &str) -> String {
    let must_be_quoted = cell.contains([',', '"', '\n', '\r']) || cell.trim() != cell;
    if must_be_quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_columns() -> Table {
        Table::titled("cell | #peak, KB")
    }

    #[test]
    fn markdown_is_padded_and_numbers_are_set_right() {
        let mut table = two_columns();
        table.push(["SwiftNet A", "200.7"]);
        table.push(["B", "75.3"]);
        let expected = "\
| cell       | peak, KB |
|------------|---------:|
| SwiftNet A |    200.7 |
| B          |     75.3 |
";
        assert_eq!(table.to_markdown(), expected);
    }

    #[test]
    fn a_cell_can_end_neither_column_nor_row_nor_begin_a_tag() {
        let mut table = two_columns();
        table.push(["a|b\n<script>", "1"]);
        let row = table.to_markdown().lines().nth(2).unwrap().to_owned();
        assert_eq!(row, "| a\\|b &lt;script> |        1 |");
        assert_eq!(table.to_markdown().lines().count(), 3);
    }

    #[test]
    fn csv_quotes_what_must_be_quoted_and_nothing_else() {
        let mut table = two_columns();
        table.push(["say \"hi\"", "1"]);
        table.push(["two\nlines", " 2"]);
        table.push(["plain", "3"]);
        let expected = "cell,\"peak, KB\"\n\"say \"\"hi\"\"\",1\n\"two\nlines\",\" 2\"\nplain,3\n";
        assert_eq!(table.to_csv(), expected);
    }

    #[test]
    fn rows_are_as_wide_as_the_head() {
        let mut table = two_columns();
        table.push(["short"]);
        table.push(["a", "b", "c"]);
        assert!(table.rows().iter().all(|row| row.len() == 2));
        assert_eq!(Table::new([]).to_csv(), "\n");
    }
}
