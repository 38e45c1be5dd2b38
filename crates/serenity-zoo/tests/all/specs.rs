//! Odd specs give a graph or an error, never a panic.

use serenity_zoo::{Values, build, networks};

#[test]
fn nonsense_is_refused() {
    for spec in [
        "",
        "?",
        "a?=",
        "=",
        "&",
        "swiftnet?",
        "swiftnet?&",
        "swiftnet?=",
        "swiftnet?full",
        "swiftnet?full=",
        "swiftnet?full=true&",
        "swiftnet?full=true&full=true",
        "swiftnet?full=true?full=true",
        "SWIFTNET",
        " swiftnet",
        "zoo:swiftnet",
        "randwire-cifar10?nodes=0",
        "randwire-cifar10?nodes=99999999999999999999",
        "randwire-cifar10?nodes=18446744073709551615",
        "randwire-cifar10?p=1.0000001",
        "randwire-cifar10?p=nan",
        "random-dag?ops=100001",
        "random-stack?cells=10000&ops=1000",
        "densenet?blocks=",
        "densenet?blocks=1-",
        "densenet?blocks=1-1-1-1-1-1-1",
        "\u{1F980}?\u{1F980}=\u{1F980}",
        "swiftnet?full=true\0",
    ] {
        let error = build(spec).expect_err(spec).to_string();
        assert!(!error.is_empty());
    }
    assert!(build(&"x".repeat(100_000)).is_err());
    assert!(build(&format!("random-dag?{}", "seed=1&".repeat(10_000))).is_err());
}

/// Each option of each network at its limits and beyond, the others at their defaults.
#[test]
fn limits_hold() {
    for network in networks() {
        for option in network.options {
            let (allowed, refused): (Vec<String>, Vec<String>) = match option.values {
                Values::Integer { min, max } => {
                    // The largest random graphs have a test of their own.
                    let largest = if max <= 4096 { max } else { min };
                    let beyond = max.checked_add(1).map(|n| n.to_string());
                    let below = min.checked_sub(1).map(|n| n.to_string());
                    (vec![min.to_string(), largest.to_string()], beyond.into_iter().chain(below).collect())
                }
                Values::Real { min, max } => (
                    vec![min.to_string(), max.to_string()],
                    vec![(min - 0.01).to_string(), (max + 0.01).to_string()],
                ),
                Values::Integers { count, min, max } => {
                    let list = |n: u64, count: usize| vec![n.to_string(); count].join("-");
                    (vec![list(min, 1), list(max, count)], vec![list(max + 1, 1), list(min, count + 1)])
                }
                Values::Choice(words) => {
                    (words.iter().map(ToString::to_string).collect(), vec![String::new(), "x".to_owned()])
                }
                _ => continue,
            };
            let spec = |value: &String| format!("{}?{}={value}", network.name, option.name);
            for value in &allowed {
                match build(&spec(value)) {
                    Ok(graph) => assert!(!graph.ops().is_empty(), "{}", spec(value)),
                    // Allowed alone, but not together with the defaults: says so.
                    Err(error) => {
                        assert!(error.to_string().contains("it must be"), "{}: {error}", spec(value));
                    }
                }
            }
            for value in &refused {
                assert!(build(&spec(value)).is_err(), "{}", spec(value));
            }
        }
    }
}
