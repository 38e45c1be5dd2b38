//! Bytes as people read them.

/// The unit in which a page states sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// KB, MB, …: powers of 1000, as the command prints them.
    #[default]
    Decimal,
    /// KiB, MiB, …: powers of 1024.
    Binary,
}

impl Unit {
    /// The unit in which a size was typed: powers of 1024 for `64KiB`, powers of 1000 for `64KB`, `65536` and nothing.
    pub fn typed(size: &str) -> Self {
        if size.to_ascii_lowercase().contains('i') { Self::Binary } else { Self::Decimal }
    }

    /// The bytes of the smallest unit, and what stands in its name between `K` and `B`.
    fn kilo(self) -> (u64, &'static str) {
        if self == Self::Binary { (1024, "i") } else { (1000, "") }
    }

    /// In the unit of which there are at least ten: `200.7 KB`, `64 KiB`.
    pub fn size(self, bytes: u64) -> String {
        if bytes < 10_000 {
            return format!("{bytes} B");
        }
        let (kilo, infix) = self.kilo();
        let mut shown = bytes as f64 / kilo as f64;
        let mut prefix = "K";
        for larger in ["M", "G", "T", "P", "E"] {
            if shown < 1e4 {
                break;
            }
            (shown, prefix) = (shown / kilo as f64, larger);
        }
        let number = format!("{shown:.1}");
        // Budgets and memories are whole numbers of KiB.
        let number = number.strip_suffix(".0").filter(|_| self == Self::Binary).unwrap_or(&number);
        format!("{number} {prefix}{infix}B")
    }

    /// About four round numbers up to `top`, each with its label.
    pub(crate) fn ticks(self, top: u64) -> Vec<(u64, String)> {
        if top == 0 {
            return vec![(0, "0".to_owned())];
        }
        let (kilo, infix) = self.kilo();
        let (unit, name) = match top {
            top if top >= 4 * kilo * kilo => (kilo * kilo, format!("M{infix}B")),
            top if top >= 4 * kilo => (kilo, format!("K{infix}B")),
            _ => (1, "B".to_owned()),
        };
        let magnitude = unit.saturating_mul(10_u64.pow((top / unit / 4).max(1).ilog10()));
        let step = [1, 2, 5, 10].map(|s| magnitude.saturating_mul(s)).into_iter().find(|s| top / s <= 5);
        let step = step.unwrap_or(top).max(1);
        let label = |bytes: u64| match bytes {
            0 => "0".to_owned(),
            bytes => format!("{} {name}", crate::grouped(u128::from(bytes / unit))),
        };
        (0..=top / step).map(|i| i * step).map(|bytes| (bytes, label(bytes))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_command() {
        assert_eq!(
            [9_999, 10_000, 200_704, u64::MAX].map(|bytes| Unit::Decimal.size(bytes)),
            ["9999 B", "10.0 KB", "200.7 KB", "18.4 EB"]
        );
        assert_eq!(
            [9_999, 65_536, 70_000, 1 << 24].map(|bytes| Unit::Binary.size(bytes)),
            ["9999 B", "64 KiB", "68.4 KiB", "16 MiB"]
        );
        let typed = ["64KiB", "250kib", "1MiB", "64KB", "65536", ""].map(Unit::typed);
        let [kib, kb] = [Unit::Binary, Unit::Decimal];
        assert_eq!(typed, [kib, kib, kib, kb, kb, kb]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        let labels =
            |unit: Unit, top: u64| unit.ticks(top).into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(labels(Unit::Decimal, 373_000), ["0", "100 KB", "200 KB", "300 KB"]);
        assert_eq!(labels(Unit::Decimal, 12_000_000), ["0", "5 MB", "10 MB"]);
        assert_eq!(labels(Unit::Binary, 373_000), ["0", "100 KiB", "200 KiB", "300 KiB"]);
        for top in [0, 1, 7, 999, u64::MAX] {
            for unit in [Unit::Decimal, Unit::Binary] {
                assert!((1..=7).contains(&unit.ticks(top).len()), "{top}");
            }
        }
    }
}
