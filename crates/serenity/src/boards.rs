//! Microcontroller boards and their RAM.

use serenity_pipeline::NeedWithKernels;
use serenity_runtimes::Kernels;

/// A board that people run neural networks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// The name that it is sold under.
    pub name: &'static str,
    /// The microcontroller on it.
    pub chip: &'static str,
    /// All on-chip RAM in bytes. The program's own variables, heap and stack need some of it.
    pub ram: u64,
    /// The fastest kernels that it runs, which its users are likely to have.
    pub kernels: Kernels,
    /// The source of these figures.
    pub source: &'static str,
}

/// The table, beside this file, so that it can be read and corrected without reading Rust.
const TABLE: &str = include_str!("boards.tsv");

/// All boards we know, smallest first.
pub fn boards() -> Vec<Board> {
    let row = |line: &'static str| {
        let mut columns = line.split('\t');
        Some(Board {
            name: columns.next()?,
            chip: columns.next()?,
            ram: columns.next()?.parse().ok()?,
            kernels: columns.next()?.parse().ok()?,
            source: columns.next()?,
        })
    };
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

/// Boards with at least `bytes` of RAM; a board whose own kernels need more must have that much.
pub fn boards_that_fit(bytes: u64, others: &[NeedWithKernels]) -> Vec<Board> {
    let mut boards = boards();
    boards.retain(|board| {
        let own = others.iter().find(|need| need.kernels == board.kernels);
        board.ram >= own.and_then(|need| need.total).unwrap_or(0).max(bytes)
    });
    boards
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_a_board_and_they_are_sorted() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let boards = boards();
        assert_eq!(boards.len(), rows);
        assert!(boards.is_sorted_by_key(|board| board.ram));
        assert!(boards.iter().all(|board| !board.source.is_empty() && board.ram >= 1024));
    }
}
