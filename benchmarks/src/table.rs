//! Plain text in columns, or Markdown.

/// Rows of cells; the first column is text, the others are numbers.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self::of(header)
    }

    /// With as many columns as there are heads.
    pub(crate) fn of<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rows: vec![header.into_iter().map(str::to_owned).collect()] }
    }

    pub(crate) fn push<const N: usize>(&mut self, row: [String; N]) {
        self.push_all(row);
    }

    pub(crate) fn push_all(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    pub(crate) fn print(&self) {
        let columns = self.rows[0].len();
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let text = format!("{:<width$}", row[0], width = widths[0]);
            let numbers = row.iter().zip(&widths).skip(1).map(|(cell, width)| format!("{cell:>width$}"));
            let cells: Vec<String> = [text].into_iter().chain(numbers).collect();
            println!("{}", cells.join("  ").trim_end());
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| if cell.is_empty() { " ".to_owned() } else { format!(" {cell} ") })
                .collect();
            format!("|{}|\n", cells.join("|"))
        };
        let numbers = "|---:".repeat(self.rows[0].len() - 1);
        let divider = format!("|---{numbers}|\n");
        let below: String = self.rows[1..].iter().map(line).collect();
        format!("{}{divider}{below}", line(&self.rows[0]))
    }
}
