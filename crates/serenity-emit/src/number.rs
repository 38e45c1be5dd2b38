//! Whole numbers that are known when the code is written: the same in every iteration of a loop, or other ones in each.

/// The elements of a small tensor of whole numbers, by iteration; outside loops there is one.
pub(crate) type Numbers = Vec<Vec<i64>>;

/// A number by iteration as an expression of the counter `i`; `None` if it follows no line, and needs a table.
pub(crate) fn as_expression(values: &[i64]) -> Option<String> {
    let (&first, step) = (values.first()?, values.get(1).map_or(0, |second| second - values[0]));
    let is_line = values.iter().enumerate().all(|(i, &value)| value == first + step * i as i64);
    is_line.then(|| match (first, step) {
        (_, 0) => format!("{first}"),
        (0, 1) => "i".to_owned(),
        (0, _) => format!("{step} * i"),
        _ => format!("{first} + {step} * i"),
    })
}

#[cfg(test)]
mod tests {
    use super::as_expression;

    #[test]
    fn lines_need_no_table() {
        assert_eq!(as_expression(&[7, 7, 7]).as_deref(), Some("7"));
        assert_eq!(as_expression(&[0, 1, 2]).as_deref(), Some("i"));
        assert_eq!(as_expression(&[0, 8, 16]).as_deref(), Some("8 * i"));
        assert_eq!(as_expression(&[4, 2, 0]).as_deref(), Some("4 + -2 * i"));
        assert_eq!(as_expression(&[0, 0, 1]), None);
    }
}
