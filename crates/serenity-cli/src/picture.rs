//! Memory over time, in the terminal.

use crate::size::Size;
use serenity::ir::Profile;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ROWS: usize = 8;

/// Two profiles over each other: `after` solid, and what `before` needs beyond it shaded. Time runs to the right, one
/// column a step (several steps share a column, which shows their maximum, if the terminal is too narrow).
pub(crate) fn memory_over_time(before: &Profile, after: &Profile, width: usize) -> Vec<String> {
    let top = before.peak().max(after.peak()).max(1);
    let room = width.saturating_sub(12).max(16);
    let columns = before.steps.len().clamp(1, room);
    let (before, after) = (columns_of(before, columns), columns_of(after, columns));
    // Short networks get wider columns, so that the picture has the same shape.
    let wide = (room.min(48) / columns).clamp(1, 4);
    (0..ROWS)
        .rev()
        .map(|row| {
            let bar: String = before
                .iter()
                .zip(&after)
                .flat_map(|(&b, &a)| std::iter::repeat_n(cell(b, a, top, row), wide))
                .collect();
            let label = Size((u128::from(top) * (row as u128 + 1) / ROWS as u128) as u64).to_string();
            let label = if row % 2 == 1 { label } else { String::new() };
            format!("{label:>10} ┤{}", bar.trim_end())
        })
        .chain([format!("{:>10} └{}", "", "─".repeat(columns * wide))])
        .collect()
}

/// The largest value of the steps that fall into each column.
fn columns_of(profile: &Profile, columns: usize) -> Vec<u64> {
    let steps = profile.steps.len();
    if steps < columns {
        // Loops take many ops together.
        let step_at = |column: usize| profile.steps.get(column * steps / columns);
        return (0..columns).map(|column| step_at(column).map_or(0, |step| step.during)).collect();
    }
    let mut result = vec![0; columns];
    for (i, step) in profile.steps.iter().enumerate() {
        let column = &mut result[i * columns / steps];
        *column = step.during.max(*column);
    }
    result
}

fn cell(before: u64, after: u64, top: u64, row: usize) -> char {
    // In eighths of a cell, rounded up so that nothing that is there vanishes.
    let height = |bytes: u64| (u128::from(bytes) * 8 * ROWS as u128).div_ceil(u128::from(top)) as usize;
    match height(after).saturating_sub(row * 8).min(8) {
        0 if height(before) > row * 8 => '░',
        filled => EIGHTHS[filled],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity::ir::{OpId, Step};

    fn profile(during: &[u64]) -> Profile {
        let step = |&during: &u64| Step { op: OpId(0), during, after: 0 };
        Profile { at_start: 0, steps: during.iter().map(step).collect() }
    }

    #[test]
    fn the_shaded_part_is_what_was_saved() {
        let picture = memory_over_time(&profile(&[8, 4]), &profile(&[4, 4]), 80);
        assert_eq!(picture[0], "       8 B ┤░░░░");
        assert_eq!(picture[4], "       4 B ┤████████");
        assert_eq!(picture.len(), ROWS + 1);
    }

    #[test]
    fn many_steps_and_narrow_terminals_are_fine() {
        let long: Vec<u64> = (0..10_000).collect();
        for width in [0, 1, 40, 200] {
            let picture = memory_over_time(&profile(&long), &profile(&long), width);
            assert!(picture.iter().all(|line| line.chars().count() <= width.max(28)));
        }
        memory_over_time(&profile(&[0]), &profile(&[0]), 80);
        let picture = memory_over_time(&profile(&[u64::MAX]), &profile(&[1]), 80);
        assert!(picture[0].starts_with("   18.4 EB ┤"), "{}", picture[0]);
    }
}
