//! Numbers as people read them.

/// At least so many significant digits, never more than three decimals: 1655.8, 33.0, 0.052.
///
/// ```
/// use serenity_report::significant;
/// assert_eq!([1655.8, 33.04, 1.684, 0.0519].map(|x| significant(x, 3)), ["1656", "33.0", "1.68", "0.052"]);
/// ```
pub fn significant(value: f64, digits: u32) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let before_point = if value.abs() < 1.0 { 0 } else { value.abs().log10().floor() as i64 + 1 };
    let decimals = (i64::from(digits) - before_point).clamp(0, 3) as usize;
    format!("{value:.decimals$}")
}

/// An integer with its digits in threes: 1,655,808.
///
/// ```
/// assert_eq!(serenity_report::grouped(1_655_808), "1,655,808");
/// ```
pub fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A coordinate: a tenth of a pixel is enough, and `0` is shorter than `0.0`.
pub(crate) fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!([0.04, -0.01, 12.0, 3.26].map(coordinate), ["0", "0", "12", "3.3"]);
    }

    #[test]
    fn what_is_no_number_is_a_dash() {
        assert_eq!(significant(f64::INFINITY, 3), "–");
        assert_eq!(significant(0.0, 3), "0.000");
    }
}
