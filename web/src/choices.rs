//! What can be chosen in the form of the page: the names that the command knows too.

use crate::Complaint;
use serde::Serialize;
use serenity::boards::boards;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::zoo::{Network, Precision, build, macs, networks};
use serenity::{Format, Rewrites};

/// The lists of the form.
#[derive(Serialize)]
pub struct Choices {
    version: &'static str,
    runtimes: Vec<&'static str>,
    kernels: Vec<&'static str>,
    rewrites: Vec<&'static str>,
    boards: Vec<BoardChoice>,
    networks: Vec<NetworkChoice>,
}

/// A board, and the budget that it stands for.
#[derive(Serialize)]
struct BoardChoice {
    name: String,
    budget: String,
}

/// A built-in network.
#[derive(Serialize)]
struct NetworkChoice {
    name: &'static str,
    summary: &'static str,
}

impl Choices {
    /// All that there is.
    pub fn all() -> Self {
        let boards = boards().into_iter().map(|board| BoardChoice {
            name: format!("{} ({})", board.name, board.chip),
            budget: if board.ram % 1024 == 0 {
                format!("{}KiB", board.ram / 1024)
            } else {
                board.ram.to_string()
            },
        });
        // A network of operators that compute nothing cannot be a model.
        let computes = |network: &&Network| build(network.name).is_ok_and(|graph| macs(&graph) > 0);
        let networks = networks().iter().filter(computes);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            runtimes: MemoryModel::all().map(|(name, _)| name).collect(),
            kernels: Kernels::all().map(|(name, _)| name).collect(),
            rewrites: Rewrites::all().map(|(name, _)| name).collect(),
            boards: boards.collect(),
            networks: networks.map(|one| NetworkChoice { name: one.name, summary: one.summary }).collect(),
        }
    }
}

/// A built-in network as an int8 `.tflite`, as `serenity zoo export NAME --int8` writes it.
///
/// # Errors
/// If there is no such network, or it cannot be such a model.
pub fn network(spec: &str) -> Result<Vec<u8>, Complaint> {
    Ok(serenity::export(spec, Format::TfLite, Precision::Int8)?.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity::zoo::weights;
    use serenity_report::size::GivenSize;

    #[test]
    fn every_choice_can_be_made() {
        let choices = Choices::all();
        assert!(choices.boards.iter().all(|board| board.budget.parse::<GivenSize>().is_ok()));
        let small = |name: &str| weights(&build(name).unwrap()) < 1_000_000;
        let networks: Vec<&str> =
            choices.networks.iter().map(|one| one.name).filter(|name| small(name)).collect();
        assert!(networks.contains(&"swiftnet"), "{networks:?}");
        for name in networks {
            assert!(network(name).is_ok(), "{name}: {:?}", network(name));
        }
        assert!(network("no-such-network").unwrap_err().message.contains("no-such-network"));
    }
}
