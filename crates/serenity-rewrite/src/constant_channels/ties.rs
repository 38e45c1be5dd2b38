//! Finds the channels that must stay or go together.

use super::network::{Network, Step};

/// The channels of all tensors, in groups of which all stay or none does.
pub(super) struct Groups {
    /// By tensor: the number of its first channel among all.
    first: Vec<usize>,
    /// By channel: the one that stands for its group; while groups are joined, a later one of its group.
    parent: Vec<usize>,
}

impl Groups {
    /// `None` if `stop` said so.
    pub(super) fn of(network: &Network, stop: &dyn Fn() -> bool) -> Option<Self> {
        let mut first = Vec::with_capacity(network.tensors.len());
        let mut count = 0;
        for tensor in &network.tensors {
            first.push(count);
            count += tensor.count;
        }
        let mut groups = Self { first, parent: (0..count).collect() };
        for step in &network.steps {
            if stop() {
                return None;
            }
            let Step::Apart(apart) = step else { continue };
            for tie in &apart.inputs {
                for channel in 0..network.tensors[tie.input].count {
                    for result in tie.results(channel).flatten() {
                        groups.join((tie.input, channel), (apart.output, result));
                    }
                }
            }
        }
        groups.settle();
        Some(groups)
    }

    /// Makes every channel name the one that stands for its group. That one comes last, so a walk from the end meets it
    /// first: a long chain of joins would otherwise be followed anew for every channel.
    fn settle(&mut self) {
        for channel in (0..self.parent.len()).rev() {
            self.parent[channel] = self.parent[self.parent[channel]];
        }
    }

    /// How many channels there are in all.
    pub(super) fn len(&self) -> usize {
        self.parent.len()
    }

    /// The channel that stands for the group of this one.
    pub(super) fn group(&self, tensor: usize, channel: usize) -> usize {
        self.parent[self.first[tensor] + channel]
    }

    fn root(&self, mut channel: usize) -> usize {
        while self.parent[channel] != channel {
            channel = self.parent[channel];
        }
        channel
    }

    fn join(&mut self, one: (usize, usize), other: (usize, usize)) {
        let [one, other] = [one, other].map(|(tensor, channel)| {
            let from = self.first[tensor] + channel;
            let root = self.root(from);
            // The next way is shorter.
            let mut at = from;
            while self.parent[at] != root {
                at = std::mem::replace(&mut self.parent[at], root);
            }
            root
        });
        // The later one stands for all, so that groups come in the order in which they are used up.
        self.parent[one.min(other)] = one.max(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant_channels::{Apart, Channels, Numbers, Tie, Transfer};

    /// A chain is followed once, not once for each of its tensors: the time of that would grow with its square.
    #[test]
    fn every_channel_of_a_long_chain_names_the_last_at_once() {
        let steps = 5000;
        let tensor = Channels { count: 2, numbers: Numbers::Real, is_fixed: false };
        let step = |at: usize| {
            let inputs = vec![Tie::same(at)];
            Step::Apart(Apart { inputs, output: at + 1, transfer: Transfer::Anything })
        };
        let network = Network { tensors: vec![tensor; steps + 1], steps: (0..steps).map(step).collect() };
        let groups = Groups::of(&network, &|| false).expect("nothing stops it");
        assert!((0..=steps).all(|tensor| groups.group(tensor, 1) == 2 * steps + 1));
        assert!(groups.parent.iter().all(|&parent| groups.parent[parent] == parent));
    }
}
