//! Which channels come and go together.

use super::network::{Network, Step};

/// The channels of all tensors, in groups of which all stay or none does.
pub(super) struct Groups {
    /// By tensor: the number of its first channel among all.
    first: Vec<usize>,
    /// By channel: another one of its group, up to the one that stands for all.
    parent: Vec<usize>,
}

impl Groups {
    pub(super) fn of(network: &Network) -> Self {
        let mut first = Vec::with_capacity(network.tensors.len());
        let mut count = 0;
        for tensor in &network.tensors {
            first.push(count);
            count += tensor.count;
        }
        let mut groups = Self { first, parent: (0..count).collect() };
        for step in &network.steps {
            let Step::Apart(apart) = step else { continue };
            for tie in &apart.inputs {
                for channel in 0..network.tensors[tie.input].count {
                    for result in tie.results(channel).flatten() {
                        groups.join((tie.input, channel), (apart.output, result));
                    }
                }
            }
        }
        groups
    }

    /// How many channels there are in all.
    pub(super) fn len(&self) -> usize {
        self.parent.len()
    }

    /// The channel that stands for the group of this one.
    pub(super) fn group(&self, tensor: usize, channel: usize) -> usize {
        self.root(self.first[tensor] + channel)
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
