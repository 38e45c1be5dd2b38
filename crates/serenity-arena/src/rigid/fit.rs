//! The lowest place that is left for a unit.

use super::table::Table;

/// Where a unit can lie at the lowest among those that have a position, and on which of them it rests, if not on the ground.
pub(super) fn lowest(
    table: &Table,
    unit: usize,
    step: i64,
    position: impl Fn(usize) -> Option<i64>,
    blocked: &mut Vec<(i64, i64, u32)>,
) -> (i64, u32) {
    let ground = table.ground();
    blocked.clear();
    for forbidden in table.of(unit) {
        let other = forbidden.other as usize;
        let at = if other == ground { Some(0) } else { position(other) };
        if let Some(at) = at
            && at + forbidden.to > 0
        {
            blocked.push((at + forbidden.from, at + forbidden.to, forbidden.other));
        }
    }
    blocked.sort_unstable();
    let (mut at, mut support) = (0, ground as u32);
    // By where they begin, so what has been passed cannot block again.
    for &(from, to, who) in &*blocked {
        if at <= from {
            break;
        }
        if at < to {
            at = (to + step - 1) / step * step;
            support = who;
        }
    }
    (at, support)
}
