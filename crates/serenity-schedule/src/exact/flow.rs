//! Maximum flow by Dinic's algorithm: `O(V^2 E)` in the worst case, close to linear on the shallow networks built here.

/// More than any sum of sizes, which fit in 63 bits; leaves room for the residual of a reverse edge.
pub(super) const UNLIMITED: u64 = 1 << 63;

const NONE: u32 = u32::MAX;

/// A flow network. Every edge stands at an even index, its reverse right behind it.
pub(super) struct Network {
    first: Vec<u32>,
    next: Vec<u32>,
    to: Vec<u32>,
    residual: Vec<u64>,
}

impl Network {
    pub(super) fn new(nodes: usize) -> Self {
        Self { first: vec![NONE; nodes], next: Vec::new(), to: Vec::new(), residual: Vec::new() }
    }

    pub(super) fn add_node(&mut self) -> u32 {
        self.first.push(NONE);
        self.first.len() as u32 - 1
    }

    /// Adds an edge and returns its index.
    pub(super) fn add_edge(&mut self, from: u32, to: u32, capacity: u64) -> u32 {
        let edge = self.to.len() as u32;
        for (node, target, residual) in [(from, to, capacity), (to, from, 0)] {
            self.next.push(self.first[node as usize]);
            self.first[node as usize] = self.to.len() as u32;
            self.to.push(target);
            self.residual.push(residual);
        }
        edge
    }

    fn edges_of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let mut edge = self.first[node as usize];
        std::iter::from_fn(move || {
            let current = edge;
            (current != NONE).then(|| {
                edge = self.next[current as usize];
                current
            })
        })
    }

    /// Pushes as much as possible from `source` to `sink`. The network must not have an unlimited path between them.
    pub(super) fn maximise(&mut self, source: u32, sink: u32) -> u64 {
        self.maximise_beyond(source, sink, u64::MAX)
    }

    /// Pushes as much as possible, or until it is more than `enough`.
    pub(super) fn maximise_beyond(&mut self, source: u32, sink: u32, enough: u64) -> u64 {
        let mut total = 0;
        let mut level = vec![NONE; self.first.len()];
        let mut current = Vec::new();
        while self.set_levels(source, sink, &mut level) {
            current.clone_from(&self.first);
            while total <= enough
                && let Some(pushed) = self.augment(source, sink, &mut level, &mut current)
            {
                total += pushed;
            }
            if total > enough {
                break;
            }
        }
        total
    }

    /// Gives an edge without room all the room there is.
    pub(super) fn open(&mut self, edge: u32) {
        self.residual[edge as usize] = UNLIMITED;
    }

    /// Does anything flow along an edge?
    pub(super) fn is_used(&self, edge: u32) -> bool {
        self.residual[edge as usize + 1] > 0
    }

    /// Distances from the source over edges with room; false if the sink is out of reach.
    fn set_levels(&self, source: u32, sink: u32, level: &mut [u32]) -> bool {
        level.fill(NONE);
        level[source as usize] = 0;
        let mut queue = vec![source];
        let mut head = 0;
        while head < queue.len() {
            let node = queue[head];
            head += 1;
            for edge in self.edges_of(node) {
                let target = self.to[edge as usize];
                if self.residual[edge as usize] > 0 && level[target as usize] == NONE {
                    level[target as usize] = level[node as usize] + 1;
                    if target == sink {
                        return true;
                    }
                    queue.push(target);
                }
            }
        }
        false
    }

    /// One path along rising levels; edges that lead nowhere are not looked at again in this phase.
    fn augment(&mut self, source: u32, sink: u32, level: &mut [u32], current: &mut [u32]) -> Option<u64> {
        let mut path: Vec<u32> = Vec::new();
        let mut node = source;
        while node != sink {
            let edge = current[node as usize];
            if edge == NONE {
                // A dead end: step back and past the edge that led here.
                level[node as usize] = NONE;
                let back = path.pop()?;
                node = self.to[back as usize ^ 1];
                current[node as usize] = self.next[back as usize];
                continue;
            }
            let target = self.to[edge as usize];
            if self.residual[edge as usize] > 0 && level[target as usize] == level[node as usize] + 1 {
                path.push(edge);
                node = target;
            } else {
                current[node as usize] = self.next[edge as usize];
            }
        }
        let amount = path.iter().map(|&edge| self.residual[edge as usize]).min()?;
        for edge in path {
            self.residual[edge as usize] -= amount;
            self.residual[edge as usize ^ 1] += amount;
        }
        Some(amount)
    }

    /// Takes one path off the flow: how much runs along it, and its edges. `None` if nothing flows any more.
    pub(super) fn take_path(&mut self, source: u32, sink: u32) -> Option<(u64, Vec<u32>)> {
        let mut path: Vec<u32> = Vec::new();
        let mut node = source;
        let mut position = vec![None; self.first.len()];
        position[source as usize] = Some(0);
        while node != sink {
            // An edge stands at an even index; what flows along it is the residual of its reverse.
            let flowing = |&edge: &u32| edge.is_multiple_of(2) && self.residual[edge as usize + 1] > 0;
            let edge = self.edges_of(node).find(flowing)?;
            path.push(edge);
            node = self.to[edge as usize];
            if let Some(start) = position[node as usize] {
                // A circle carries nothing: take it off and go on from where it began.
                let circle = path.split_off(start);
                self.take_off(&circle);
                for &edge in &circle {
                    position[self.to[edge as usize] as usize] = None;
                }
            }
            position[node as usize] = Some(path.len());
        }
        let amount = self.take_off(&path);
        Some((amount, path))
    }

    /// Takes as much as possible off the flow along some edges.
    fn take_off(&mut self, edges: &[u32]) -> u64 {
        let amount = edges.iter().map(|&edge| self.residual[edge as usize + 1]).min().unwrap_or(0);
        for &edge in edges {
            self.residual[edge as usize + 1] -= amount;
            self.residual[edge as usize] += amount;
        }
        amount
    }

    /// Nodes that `source` can still push to: the source side of the least minimum cut.
    pub(super) fn reached_from(&self, source: u32) -> Vec<bool> {
        self.spread(source, |edge| self.residual[edge as usize] > 0)
    }

    /// Nodes that can still push to `sink`: the sink side of the least cut seen from there.
    pub(super) fn reaching(&self, sink: u32) -> Vec<bool> {
        self.spread(sink, |edge| self.residual[edge as usize ^ 1] > 0)
    }

    fn spread(&self, start: u32, passable: impl Fn(u32) -> bool) -> Vec<bool> {
        let mut seen = vec![false; self.first.len()];
        seen[start as usize] = true;
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            for edge in self.edges_of(node) {
                let target = self.to[edge as usize];
                if passable(edge) && !std::mem::replace(&mut seen[target as usize], true) {
                    stack.push(target);
                }
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_through_a_diamond_is_its_cut() {
        let mut network = Network::new(4);
        for (from, to, capacity) in [(0, 1, 3), (0, 2, 5), (1, 3, 4), (2, 3, 2), (1, 2, UNLIMITED)] {
            network.add_edge(from, to, capacity);
        }
        assert_eq!(network.maximise(0, 3), 5);
        assert_eq!(network.reached_from(0), [true, false, true, false]);
        assert_eq!(network.reaching(3), [false, true, false, true]);
    }
}
