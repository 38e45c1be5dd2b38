//! Bytes as people read them.

/// In the unit of which there are at least ten, as the command prints them: `200.7 KB`.
pub fn size(bytes: u64) -> String {
    if bytes < 10_000 {
        return format!("{bytes} B");
    }
    let mut shown = bytes as f64 / 1e3;
    let mut unit = "KB";
    for larger in ["MB", "GB", "TB", "PB", "EB"] {
        if shown < 1e4 {
            break;
        }
        (shown, unit) = (shown / 1e3, larger);
    }
    format!("{shown:.1} {unit}")
}

/// About four round numbers up to `top`, each with its label.
pub(crate) fn ticks(top: u64) -> Vec<(u64, String)> {
    if top == 0 {
        return vec![(0, "0".to_owned())];
    }
    let magnitude = 10_u64.pow((top / 4).max(1).ilog10());
    let step = [1, 2, 5, 10].map(|s| magnitude.saturating_mul(s)).into_iter().find(|s| top / s <= 5);
    let step = step.unwrap_or(top).max(1);
    let label = |bytes: u64| match bytes {
        0 => "0".to_owned(),
        b if b.is_multiple_of(1_000_000) && step >= 1_000_000 => format!("{} MB", b / 1_000_000),
        b if b.is_multiple_of(1000) => format!("{} KB", crate::grouped(u128::from(b / 1000))),
        b => format!("{b} B"),
    };
    (0..=top / step).map(|i| i * step).map(|bytes| (bytes, label(bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_command() {
        assert_eq!(
            [9_999, 10_000, 200_704, u64::MAX].map(size),
            ["9999 B", "10.0 KB", "200.7 KB", "18.4 EB"]
        );
    }

    #[test]
    fn ticks_are_round_and_few() {
        let labels = |top: u64| ticks(top).into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(labels(373_000), ["0", "100 KB", "200 KB", "300 KB"]);
        assert_eq!(labels(12_000_000), ["0", "5 MB", "10 MB"]);
        for top in [0, 1, 7, 999, u64::MAX] {
            assert!((1..=7).contains(&ticks(top).len()), "{top}");
        }
    }
}
