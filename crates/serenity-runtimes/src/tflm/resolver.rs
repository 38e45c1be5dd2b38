//! How TFLM's op resolver calls operators.

/// The call that registers an operator: `AddDynamicUpdateSlice()` for `DYNAMIC_UPDATE_SLICE`, `AddConv2D()` for
/// `CONV_2D`.
///
/// ```
/// use serenity_runtimes::resolver_call;
/// assert_eq!(resolver_call("WHILE"), "AddWhile()");
/// assert_eq!(resolver_call("DEPTHWISE_CONV_2D"), "AddDepthwiseConv2D()");
/// ```
pub fn resolver_call(kind: &str) -> String {
    let capitalised = |word: &str| {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.to_owned();
        }
        let mut letters = word.chars();
        let first: String = letters.next().into_iter().collect();
        first + &letters.as_str().to_lowercase()
    };
    format!("Add{}()", kind.split('_').map(capitalised).collect::<String>())
}
