//! Plain text in columns.

/// Rows of cells; the first column is text, the others are numbers.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self { rows: vec![header.map(str::to_owned).into()] }
    }

    pub(crate) fn push<const N: usize>(&mut self, row: [String; N]) {
        self.rows.push(row.into());
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
}
