//! Why a spec gives no graph.

use serenity_ir::{GraphError, ModelError};

/// A spec that names no network we can build, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum ZooError {
    /// No network of this name.
    #[error("unknown network `{name}`;{} `serenity zoo list` shows all", did_you_mean(*.nearest))]
    UnknownNetwork { name: String, nearest: Option<&'static str> },
    /// The network has no option of this name.
    #[error("`{network}` has no option `{option}`;{} {}", did_you_mean(*.nearest), all_options(.known))]
    UnknownOption {
        network: &'static str,
        option: String,
        nearest: Option<&'static str>,
        known: Vec<&'static str>,
    },
    /// Something after the `?` that is not an option.
    #[error("`{part}` is not of the form OPTION=VALUE; write NAME?OPTION=VALUE&OPTION=VALUE")]
    NotAnOption { part: String },
    /// An option that is given twice.
    #[error("option `{option}` is given twice; give it once")]
    Repeated { option: &'static str },
    /// A value that the option does not allow, alone or together with the others.
    #[error("option `{option}` cannot be `{value}`; it must be {allowed}")]
    BadValue { option: &'static str, value: String, allowed: String },
    /// The options describe something that is not a graph, such as one too large to count its bytes.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A graph that stands for any network: it has no weights to write into a model.
    #[error("`{network}` is no model: `{name}` {why}; all networks but the random-* graphs can be exported")]
    NoModel { network: String, name: String, why: &'static str },
    /// A network is too large to be given weights.
    #[error(
        "`{network}` has {amount} {what}, too many for a model ({limit}); choose a smaller one with its options"
    )]
    TooLarge { network: String, what: &'static str, amount: u64, limit: u64 },
    /// A lowered network whose parts do not fit together.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" did you mean `{name}`?"))
}

fn all_options(known: &[&str]) -> String {
    if known.is_empty() { "it has none".to_owned() } else { format!("its options are: {}", known.join(", ")) }
}

/// The candidate that a misspelt name most likely means; `None` if none is close.
pub(crate) fn nearest(name: &str, candidates: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    candidates
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .filter(|&(similarity, _)| similarity >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use crate::build;

    fn message(spec: &str) -> String {
        build(spec).unwrap_err().to_string()
    }

    #[test]
    fn a_misspelt_network_is_recognised() {
        assert_eq!(
            message("swiftnett"),
            "unknown network `swiftnett`; did you mean `swiftnet`? `serenity zoo list` shows all"
        );
        assert_eq!(message("xyz"), "unknown network `xyz`; `serenity zoo list` shows all");
    }

    #[test]
    fn a_misspelt_option_is_recognised_and_all_are_listed() {
        assert_eq!(
            message("random-dag?sed=1"),
            "`random-dag` has no option `sed`; did you mean `seed`? its options are: ops, seed"
        );
        assert_eq!(message("swiftnet-b?x=1"), "`swiftnet-b` has no option `x`; it has none");
    }

    #[test]
    fn a_bad_value_says_what_is_allowed() {
        assert_eq!(
            message("random-dag?ops=1"),
            "option `ops` cannot be `1`; it must be a whole number from 2 to 100000"
        );
        assert_eq!(
            message("darts-cell?genotype=v3"),
            "option `genotype` cannot be `v3`; it must be one of: v2, v1"
        );
        assert_eq!(message("random-dag?seed=1&seed=2"), "option `seed` is given twice; give it once");
        assert!(message("random-dag?seed").starts_with("`seed` is not of the form OPTION=VALUE"));
    }
}
