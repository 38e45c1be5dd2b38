//! The cells that the paper evaluates, and what it published about them.

use crate::Options;

/// Is the network the one the authors measured?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its definition is public.
    Public,
    /// It is not public, so this is another that has the published figures.
    Reconstruction,
    /// It is not public, and of the wirings of cell A that were found for it this is `fitted`.
    Fitted,
    /// The random generator is public, the seed is not: many are drawn.
    UnknownSeed,
}

impl Origin {
    pub(crate) fn in_words(self, options: &Options) -> String {
        match self {
            Self::Public | Self::Reconstruction | Self::Fitted => self.of_one().to_owned(),
            Self::UnknownSeed => format!("reconstruction, median of {} seeds", options.seeds),
        }
    }

    /// Where one network comes from that stands for all seeds, in words.
    pub(crate) fn of_one(self) -> &'static str {
        match self {
            Self::Public => "published",
            Self::Reconstruction => "reconstruction",
            Self::Fitted => FITTED,
            Self::UnknownSeed => "reconstruction, one seed",
        }
    }
}

/// Peak memory in KB (1000 bytes). Those of `SwiftNet` A are in the paper's text; the others are its figure 15 as remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    pub(crate) tflite: f64,
    pub(crate) scheduled: f64,
    pub(crate) rewritten: f64,
    /// Seconds to schedule, without and with rewriting: as remembered, the text has only their sums and means.
    pub(crate) seconds: [f64; 2],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) name: &'static str,
    /// The name for narrow places, in two lines.
    pub(crate) short: &'static str,
    /// The network in the zoo, without a seed.
    spec: &'static str,
    pub(crate) origin: Origin,
    pub(crate) published: Published,
}

impl Cell {
    const fn new(
        [name, short, spec]: [&'static str; 3],
        origin: Origin,
        [tflite, scheduled, rewritten]: [f64; 3],
        seconds: [f64; 2],
    ) -> Self {
        Self { name, short, spec, origin, published: Published { tflite, scheduled, rewritten, seconds } }
    }

    /// A figure of the paper for this cell, with a mark if it is not in the paper's text.
    pub(crate) fn marked(&self, figure: f64, decimals: usize) -> String {
        if self.origin == Origin::Fitted {
            format!("{figure:.*}", decimals.max(1))
        } else {
            format!("{figure:.decimals$} †")
        }
    }

    /// The network, of random ones the first.
    pub(crate) fn one(&self) -> String {
        if self.origin == Origin::UnknownSeed {
            format!("{}&seed=1", self.spec)
        } else {
            self.spec.to_owned()
        }
    }

    /// The network as a model with weights: of random ones the first, of floats as runtimes have them.
    pub(crate) fn model(&self) -> String {
        self.one().replace("dtype=float16&", "")
    }

    /// The networks that stand for this cell: one, or one a seed.
    pub(crate) fn specs(&self, options: &Options) -> Vec<String> {
        match self.origin {
            Origin::UnknownSeed => seeds(self.spec, options),
            Origin::Public | Origin::Reconstruction | Origin::Fitted => vec![self.spec.to_owned()],
        }
    }
}

/// A random network with each of the seeds.
pub(crate) fn seeds(spec: &str, options: &Options) -> Vec<String> {
    (1..=options.seeds).map(|seed| format!("{spec}&seed={seed}")).collect()
}

/// The reconstructions of `SwiftNet` A: the one that has the paper's figures after rewriting too, one that besides
/// takes both rules, and the first one.
pub(crate) const FITTED_A: &str = "swiftnet-a?wiring=fitted";
pub(crate) const MIXED_A: &str = "swiftnet-a?wiring=mixed";
pub(crate) const FIRST_A: &str = "swiftnet-a?wiring=first";

/// Whose network it is, where cell A has the wiring `fitted`.
pub(crate) const FITTED: &str = "reconstruction, wiring `fitted`";

/// What a row that sums up others is called, where others say whose network it is.
pub(crate) const COMPUTED: &str = "computed";

/// All cells, in the paper's order. The published peaks of `RandWire` are multiples of half a tensor at 2 bytes per
/// element.
pub(crate) const CELLS: [Cell; 9] = [
    Cell::new(
        ["DARTS ImageNet, normal cell", "DARTS\nnormal", "darts-cell"],
        Origin::Public,
        [1656.0, 903.0, 753.0],
        [3.2, 3.2],
    ),
    Cell::new(["SwiftNet A", "SwiftNet\nA", FITTED_A], Origin::Fitted, [551.0, 250.9, 225.8], [5.7, 42.1]),
    Cell::new(
        ["SwiftNet B", "SwiftNet\nB", "swiftnet-b"],
        Origin::Reconstruction,
        [194.0, 82.0, 72.0],
        [4.5, 30.5],
    ),
    Cell::new(
        ["SwiftNet C", "SwiftNet\nC", "swiftnet-c"],
        Origin::Reconstruction,
        [70.0, 33.0, 20.0],
        [27.8, 39.3],
    ),
    Cell::new(
        ["RandWire CIFAR-10 A", "RandWire\nC10 A", "randwire-cifar10?dtype=float16&stage=1"],
        Origin::UnknownSeed,
        [645.0, 459.0, 459.0],
        [118.1, 118.1],
    ),
    Cell::new(
        ["RandWire CIFAR-10 B", "RandWire\nC10 B", "randwire-cifar10?dtype=float16&stage=2"],
        Origin::UnknownSeed,
        [330.0, 260.0, 260.0],
        [15.1, 15.1],
    ),
    Cell::new(
        ["RandWire CIFAR-100 A", "RandWire\nC100 A", "randwire-cifar100?dtype=float16&stage=1"],
        Origin::UnknownSeed,
        [605.0, 359.0, 359.0],
        [28.5, 28.5],
    ),
    Cell::new(
        ["RandWire CIFAR-100 B", "RandWire\nC100 B", "randwire-cifar100?dtype=float16&stage=2"],
        Origin::UnknownSeed,
        [350.0, 280.0, 280.0],
        [74.4, 74.4],
    ),
    Cell::new(
        ["RandWire CIFAR-100 C", "RandWire\nC100 C", "randwire-cifar100?dtype=float16&stage=3"],
        Origin::UnknownSeed,
        [160.0, 115.0, 115.0],
        [87.9, 87.9],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::geometric_mean;

    #[test]
    fn the_published_cells_have_the_published_means() {
        let mean = |of: fn(&Published) -> f64| geometric_mean(CELLS.iter().map(|cell| of(&cell.published)));
        assert_eq!(format!("{:.2}", mean(|p| p.tflite / p.scheduled)), "1.68");
        assert_eq!(format!("{:.2}", mean(|p| p.tflite / p.rewritten)), "1.86");
        let seconds = |rewriting: usize, cells: &[Cell]| -> f64 {
            cells.iter().map(|cell| cell.published.seconds[rewriting]).sum()
        };
        // Those of single cells are remembered; what the text says of them agrees within its digits.
        assert!(
            (seconds(0, &CELLS[1..4]) - 37.9).abs() < 0.15 && (seconds(1, &CELLS[1..4]) - 111.9).abs() < 0.05
        );
        assert!(
            (seconds(0, &CELLS) / 9.0 - 40.6).abs() < 0.05 && (seconds(1, &CELLS) / 9.0 - 48.8).abs() < 0.05
        );
    }
}
