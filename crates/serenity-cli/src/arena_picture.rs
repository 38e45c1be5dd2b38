//! The arena over time, in the terminal: addresses upwards, steps to the right.

use crate::size::Size;
use serenity::arena::{Buffer, FOREVER};
use std::cmp::Reverse;

const ROWS: usize = 12;
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// For what is too small to have a letter of its own.
const SMALL: char = '▒';

/// A letter for each of the largest buffers, in this order.
pub(crate) fn lettered(buffers: &[Buffer]) -> Vec<(usize, char)> {
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&b| buffers[b].size > 0).collect();
    order.sort_by_key(|&b| (Reverse(buffers[b].size), buffers[b].lower, b));
    order.into_iter().zip(LETTERS.chars()).collect()
}

/// Who lies where: every cell shows what covers its middle at the first of its steps.
pub(crate) fn arena_over_time(buffers: &[Buffer], offsets: &[u64], height: u64, width: usize) -> Vec<String> {
    let room = width.saturating_sub(12).max(16);
    let start = buffers.iter().map(|buffer| buffer.lower).min().unwrap_or(0);
    let end = |buffer: &Buffer| if buffer.upper == FOREVER { buffer.lower + 1 } else { buffer.upper };
    let end = buffers.iter().map(end).max().unwrap_or(1);
    // Steps may be as far apart as numbers go.
    let steps = (i128::from(end) - i128::from(start)).unsigned_abs();
    let columns = usize::try_from(steps).unwrap_or(usize::MAX).min(room);
    let wide = (room.min(48) / columns).clamp(1, 4);
    let mut marks = vec![SMALL; buffers.len()];
    for (buffer, letter) in lettered(buffers) {
        marks[buffer] = letter;
    }
    let mut cells = vec![vec![' '; columns]; ROWS];
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    // What is written over something else is drawn over it.
    order.sort_by_key(|&b| (buffers[b].lower, b));
    for b in order {
        let (buffer, offset) = (&buffers[b], offsets[b]);
        for column in 0..columns {
            let step = i128::from(start) + (column as u128 * steps / columns as u128) as i128;
            if !(i128::from(buffer.lower)..i128::from(buffer.upper)).contains(&step) {
                continue;
            }
            for (row, cells) in cells.iter_mut().enumerate() {
                let middle = (u128::from(height) * (2 * row as u128 + 1) / (2 * ROWS as u128)) as u64;
                if (offset..offset.saturating_add(buffer.size)).contains(&middle) {
                    cells[column] = marks[b];
                }
            }
        }
    }
    let line = |row: usize| {
        let bar: String = cells[row].iter().flat_map(|&cell| std::iter::repeat_n(cell, wide)).collect();
        let label = Size((u128::from(height) * (row as u128 + 1) / ROWS as u128) as u64).to_string();
        let label = if row % 3 == 2 { label } else { String::new() };
        format!("{label:>10} ┤{}", bar.trim_end())
    };
    (0..ROWS).rev().map(line).chain([format!("{:>10} └{}", "", "─".repeat(columns * wide))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_two_is_drawn_side_by_side() {
        let buffers = [Buffer::new(10, 0..2), Buffer::new(20, 1..3)];
        let picture = arena_over_time(&buffers, &[20, 0], 30, 30);
        assert_eq!(picture[0], "      30 B ┤BBBBBBBB");
        assert_eq!(picture[11].trim_end(), "           ┤    AAAAAAAA");
        assert_eq!(picture.len(), ROWS + 1);
    }

    #[test]
    fn absurd_lifetimes_and_narrow_terminals_are_fine() {
        let buffers = [Buffer::new(1, i64::MIN..i64::MAX - 1), Buffer::new(u64::MAX, 0..FOREVER)];
        for width in [0, 40, 500] {
            let picture = arena_over_time(&buffers, &[0, 1], u64::MAX, width);
            assert!(picture.iter().all(|line| line.chars().count() <= width.max(28)), "{picture:?}");
        }
        assert_eq!(arena_over_time(&[], &[], 0, 80).len(), ROWS + 1);
    }
}
