//! Which graphs are measured.

use std::error::Error;
use std::path::{Path, PathBuf};

/// Networks found by architecture search or wired at random, as they are published.
const PUBLISHED: &[&str] = &[
    "swiftnet",
    "darts-cifar",
    "darts-imagenet",
    "nasnet-cifar",
    "nasnet-imagenet",
    "amoebanet-cifar",
    "amoebanet-imagenet",
    "pnasnet-cifar",
    "pnasnet-imagenet",
    "randwire-cifar10?ops=split&seed=1",
    "randwire-cifar10?ops=split&seed=2",
    "randwire-cifar10?ops=split&seed=3",
    "randwire-cifar10?ops=split&seed=4",
    "randwire-cifar100?ops=split&seed=1",
    "randwire-cifar100?ops=split&seed=2",
];

/// Larger stages and smaller ops than are usual, and graphs of forks and joins.
const LARGE: &[&str] = &[
    "randwire-imagenet?seed=1",
    "randwire-imagenet?seed=2",
    "randwire-imagenet?ops=split&seed=1",
    "randwire-cifar10?ops=binary&seed=1",
    "randwire-cifar10?ops=binary&seed=2",
    "randwire-cifar10?stage=1&nodes=64&seed=1",
    "randwire-cifar10?stage=1&nodes=64&seed=2",
    "randwire-cifar10?stage=1&nodes=64&seed=3",
    "randwire-cifar10?stage=1&nodes=96&seed=1",
    "randwire-cifar10?stage=1&nodes=96&seed=2",
    "randwire-cifar10?stage=1&nodes=96&seed=3",
    "random-sp?ops=500&seed=1",
    "random-sp?ops=500&seed=2",
    "random-sp?ops=500&seed=3",
    "random-sp?ops=2000&seed=1",
    "random-sp?ops=2000&branches=8&seed=1",
    "random-tree?ops=1000&seed=1",
    "random-tree?ops=1000&seed=2",
];

/// Random graphs of bounded width, in grids of length and width.
const RANDOM: &[&str] = &[
    "random-window?ops=100&window=10&seed=1",
    "random-window?ops=100&window=15&seed=1",
    "random-window?ops=100&window=20&seed=1",
    "random-window?ops=100&window=25&seed=1",
    "random-window?ops=500&window=10&seed=1",
    "random-window?ops=500&window=15&seed=1",
    "random-window?ops=500&window=20&seed=1",
    "random-window?ops=500&window=25&seed=1",
    "random-window?ops=2000&window=10&seed=1",
    "random-window?ops=2000&window=15&seed=1",
    "random-window?ops=2000&window=20&seed=1",
    "random-window?ops=2000&window=25&seed=1",
    "random-layered?ops=200&width=8&seed=1",
    "random-layered?ops=200&width=12&seed=1",
    "random-layered?ops=200&width=16&seed=1",
    "random-layered?ops=500&width=8&seed=1",
    "random-layered?ops=500&width=12&seed=1",
    "random-layered?ops=500&width=16&seed=1",
    "random-layered?ops=2000&width=8&seed=1",
    "random-layered?ops=2000&width=12&seed=1",
    "random-layered?ops=2000&width=16&seed=1",
    "random-stack?cells=20&ops=20&seed=1",
    "random-stack?cells=20&ops=50&seed=1",
    "random-stack?cells=20&ops=100&seed=1",
    "random-stack?cells=100&ops=20&seed=1",
    "random-stack?cells=100&ops=50&seed=1",
];

/// What the comparison adds to the published networks: one or two graphs of each other kind, and two that are too hard for all.
const OTHERS: &[&str] = &[
    "randwire-cifar10?stage=1&nodes=64&seed=1",
    "randwire-cifar10?stage=1&nodes=128&seed=1",
    "random-sp?ops=500&seed=1",
    "random-tree?ops=1000&seed=1",
    "random-stack?cells=20&ops=20&seed=1",
    "random-layered?ops=200&width=8&seed=1",
    "random-window?ops=100&window=10&seed=1",
    "random-window?ops=100&window=15&seed=1",
    "random-window?ops=200&window=30&seed=1",
];

/// The three sets of the ablation, each with what it is.
pub(crate) const ABLATION: [(&str, &[&str]); 3] =
    [("A: NAS, RandWire", PUBLISHED), ("B: large, fork-join", LARGE), ("C: random", RANDOM)];

/// What is compared if nothing was asked for.
pub(crate) fn defaults() -> Vec<String> {
    PUBLISHED.iter().chain(OTHERS).map(|spec| format!("zoo:{spec}")).collect()
}

/// The graphs of a collection outside the checkout.
pub(crate) fn shared() -> Result<Vec<String>, Box<dyn Error>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let folder = std::env::var_os("SERENITY_SHARED").map_or_else(beside, PathBuf::from).join("graphs");
    let list = std::fs::read_dir(&folder).map_err(|error| {
        format!(
            "cannot list `{}`: {error}\nhelp: set SERENITY_SHARED, or leave out --shared",
            folder.display()
        )
    })?;
    let paths: Vec<PathBuf> = list.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    let is_graph = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut sources: Vec<String> =
        paths.into_iter().filter(is_graph).map(|path| path.to_string_lossy().into_owned()).collect();
    sources.sort_unstable();
    Ok(sources)
}

/// How a table names a graph: the spec of a built-in network, or the name of a file.
pub(crate) fn short_name(source: &str) -> String {
    let stem = || Path::new(source).file_stem().map_or(source.into(), |stem| stem.to_string_lossy());
    source.strip_prefix("zoo:").map_or_else(|| stem().into_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_specs_can_be_built() {
        for spec in [PUBLISHED, LARGE, RANDOM, OTHERS].concat() {
            serenity::zoo::build(spec).unwrap();
        }
    }
}
