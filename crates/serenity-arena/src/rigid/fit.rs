//! Finds the lowest free position for a unit.

use super::table::Table;

/// Where a unit can lie at the lowest among those that have a position, and on which of them it rests, if not on the ground.
///
/// Leaves in `blocked` what is forbidden, in no order.
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
    let (mut at, mut support) = (0, ground as u32);
    // Over and over, with what is still ahead: cheaper than sorting, since few of them are on the way up.
    let mut has_risen = true;
    let mut ahead = blocked.len();
    while has_risen {
        has_risen = false;
        let mut kept = 0;
        for index in 0..ahead {
            let (from, to, who) = blocked[index];
            if at < to {
                if from < at {
                    at = (to + step - 1) / step * step;
                    support = who;
                    has_risen = true;
                } else {
                    blocked.swap(kept, index);
                    kept += 1;
                }
            }
        }
        ahead = kept;
    }
    (at, support)
}
