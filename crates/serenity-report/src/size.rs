//! Sizes as people write them.

use crate::grouped;
use std::fmt;
use std::str::FromStr;

/// A number of bytes, written `250000`, `250KB` (1000) or `250KiB` (1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// A number of bytes that the user typed. It is shown in the unit that was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenSize {
    /// How many.
    pub bytes: u64,
    unit: (&'static str, u64),
}

const UNITS: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("EB", 1_000_000_000_000_000_000),
    ("B", 1),
    ("", 1),
];

impl GivenSize {
    /// The size in one word, as an argument of a command.
    pub fn as_argument(self) -> String {
        match self.unit {
            (_, 1) => self.bytes.to_string(),
            _ => self.to_string().replace(' ', ""),
        }
    }

    /// Another size, in units of 1024 if this one was typed so.
    pub fn like(self, bytes: u64) -> String {
        if !self.unit.0.contains('i') || bytes < 10_000 {
            return Size(bytes).to_string();
        }
        let scale = if bytes < 10 << 20 { ("KiB", 10) } else { ("MiB", 20) };
        format!("{:.1} {}", bytes as f64 / f64::from(1 << scale.1), scale.0)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|GivenSize { bytes, .. }| Self(bytes))
    }
}

impl FromStr for GivenSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let upper = text.trim().to_ascii_uppercase();
        let split = upper.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(upper.len());
        let (number, unit) = (upper[..split].trim().replace('_', ""), &upper[split..]);
        let unit = UNITS.iter().copied().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let given = unit.and_then(|unit| {
            let bytes = match number.parse::<u64>() {
                Ok(whole) => whole.checked_mul(unit.1),
                Err(_) => fraction(&number, unit.1),
            };
            Some(Self { bytes: bytes?, unit })
        });
        given.ok_or_else(|| match (unit_of(&upper[split..]), number.is_empty()) {
            // A thousand or 1,024? A budget must not be guessed.
            (Some(unit), false) => {
                format!("say {number}{unit}B for units of 1000, or {number}{unit}iB for units of 1024")
            }
            _ => "expected a size as in 250000, 250KB (1000) or 250KiB (1024)".to_owned(),
        })
    }
}

/// `K` of `64K`, which is none of two units.
fn unit_of(letters: &str) -> Option<char> {
    let mut letters = letters.chars();
    letters.next().filter(|letter| "KMGTPE".contains(*letter) && letters.next().is_none())
}

/// A decimal fraction of a unit, as in `1.5MB`, rounded to bytes.
fn fraction(number: &str, unit: u64) -> Option<u64> {
    let plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let bytes = number.parse::<f64>().ok().filter(|_| plain)? * unit as f64;
    (bytes < 2_f64.powi(63)).then_some(bytes.round() as u64)
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        if bytes < 10_000 {
            return f.pad(&format!("{bytes} B"));
        }
        // The largest unit of which there are at least ten, so that three digits or more are shown.
        let mut shown = bytes as f64 / 1e3;
        let mut unit = "KB";
        for larger in ["MB", "GB", "TB", "PB", "EB"] {
            if shown < 1e4 {
                break;
            }
            (shown, unit) = (shown / 1e3, larger);
        }
        f.pad(&format!("{shown:.1} {unit}"))
    }
}

impl fmt::Display for GivenSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            (_, 1) => f.pad(&format!("{} bytes", grouped(self.bytes.into()))),
            (name, bytes) => f.pad(&format!("{} {name}", self.bytes as f64 / bytes as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_written() {
        for (text, bytes) in [
            ("250000", 250_000),
            ("250KB", 250_000),
            ("250 kb", 250_000),
            ("250KiB", 256_000),
            ("1.5MB", 1_500_000),
            ("2GiB", 1 << 31),
            ("3TB", 3_000_000_000_000),
            ("1EiB", 1 << 60),
            ("0", 0),
            ("250_000", 250_000),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in [
            "",
            "KB",
            "-1",
            "1e3",
            "10 apples",
            "99999999999999999999",
            "inf",
            "nan",
            "1.5.2KB",
            "20000000000GB",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_unit_that_may_be_two_is_not_guessed() {
        let message = "64K".parse::<Size>().unwrap_err();
        assert_eq!(message, "say 64KB for units of 1000, or 64KiB for units of 1024");
        assert!("1.5m".parse::<Size>().unwrap_err().contains("1.5MiB"));
        assert!("K".parse::<Size>().unwrap_err().contains("expected a size"));
    }

    #[test]
    fn other_sizes_follow_the_units_that_were_typed() {
        let like = |typed: &str, bytes| typed.parse::<GivenSize>().unwrap().like(bytes);
        assert_eq!(like("64KiB", 185_942), "181.6 KiB");
        assert_eq!(like("1MiB", 30 << 20), "30.0 MiB");
        assert_eq!(like("1MiB", 812), "812 B");
        assert_eq!(like("64KB", 185_942), "185.9 KB");
        assert_eq!(like("65536", 185_942), "185.9 KB");
    }

    #[test]
    fn a_size_that_was_typed_is_shown_in_its_unit() {
        for (typed, shown) in [
            ("64KiB", "64 KiB"),
            ("256kb", "256 KB"),
            ("1.5 MB", "1.5 MB"),
            ("65536", "65,536 bytes"),
            ("900B", "900 bytes"),
        ] {
            let size: GivenSize = typed.parse().unwrap();
            assert_eq!(size.to_string(), shown);
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_of_the_paper() {
        assert_eq!(Size(200_704).to_string(), "200.7 KB");
        assert_eq!(Size(9_999).to_string(), "9999 B");
        assert_eq!(Size(10_000).to_string(), "10.0 KB");
        assert_eq!(Size(4_000_000_000_000).to_string(), "4000.0 GB");
        assert_eq!(Size(12_000_000_000_000).to_string(), "12.0 TB");
        assert_eq!(Size(u64::MAX).to_string(), "18.4 EB");
        assert_eq!(format!("{:>10}|", Size(12_345_678)), "   12.3 MB|");
    }
}
