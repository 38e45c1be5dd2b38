//! Random graphs: undirected, then every edge oriented from the lower to the higher node, which makes them acyclic.
//!
//! - Watts and Strogatz: a ring in which every node knows its `k / 2` neighbours on both sides; each edge is rewired
//!   with probability `p` to a random other node.
//! - Erdős and Rényi: each pair is an edge with probability `p`.
//! - Barabási and Albert: from `m` nodes without edges, each new node is joined to `m` earlier ones, chosen in
//!   proportion to their degree.

use crate::ZooError;
use crate::options::Options;
use crate::rng::Rng;
use std::collections::BTreeSet;

/// An oriented random graph.
pub(super) struct Wiring {
    /// For each node, the earlier nodes it reads, in ascending order.
    pub(super) predecessors: Vec<Vec<usize>>,
}

impl Wiring {
    /// Draws the graph that the options describe.
    pub(super) fn draw(options: &Options, rng: &mut Rng) -> Result<Self, ZooError> {
        let nodes = options.integer("nodes") as usize;
        let edges = match options.choice("graph") {
            "er" => erdos_renyi(nodes, options.real("p"), rng),
            "ba" => {
                let m = options.integer("m") as usize;
                if m >= nodes {
                    return Err(options.refuse("m", format!("less than the number of nodes, {nodes}")));
                }
                barabasi_albert(nodes, m, rng)
            }
            _ => {
                let k = options.integer("k") as usize;
                if k % 2 == 1 || k >= nodes {
                    return Err(
                        options.refuse("k", format!("even and less than the number of nodes, {nodes}"))
                    );
                }
                watts_strogatz(nodes, k, options.real("p"), rng)
            }
        };
        Ok(Self { predecessors: edges.orient() })
    }

    /// The nodes that no other reads.
    pub(super) fn sinks(&self) -> Vec<usize> {
        let mut is_read = vec![false; self.predecessors.len()];
        for &node in self.predecessors.iter().flatten() {
            is_read[node] = true;
        }
        (0..is_read.len()).filter(|&node| !is_read[node]).collect()
    }
}

/// An undirected graph without loops or double edges.
struct Edges {
    nodes: usize,
    /// Row by row, symmetric.
    joined: Vec<bool>,
}

impl Edges {
    fn none(nodes: usize) -> Self {
        Self { nodes, joined: vec![false; nodes * nodes] }
    }

    fn set(&mut self, a: usize, b: usize, joined: bool) {
        self.joined[a * self.nodes + b] = joined;
        self.joined[b * self.nodes + a] = joined;
    }

    /// For each node, whether it is joined to `node`.
    fn row(&self, node: usize) -> &[bool] {
        &self.joined[node * self.nodes..][..self.nodes]
    }

    fn orient(&self) -> Vec<Vec<usize>> {
        (0..self.nodes).map(|node| (0..node).filter(|&other| self.row(node)[other]).collect()).collect()
    }
}

/// `k` is even and below `nodes`.
fn watts_strogatz(nodes: usize, k: usize, p: f64, rng: &mut Rng) -> Edges {
    let mut edges = Edges::none(nodes);
    for distance in 1..=k / 2 {
        for node in 0..nodes {
            edges.set(node, (node + distance) % nodes, true);
        }
    }
    for distance in 1..=k / 2 {
        for node in 0..nodes {
            if !rng.chance(p) {
                continue;
            }
            let row = edges.row(node);
            let strangers: Vec<usize> = (0..nodes).filter(|&other| other != node && !row[other]).collect();
            // A node that knows all others has nowhere to rewire to.
            if !strangers.is_empty() {
                edges.set(node, (node + distance) % nodes, false);
                edges.set(node, strangers[rng.index(strangers.len())], true);
            }
        }
    }
    edges
}

fn erdos_renyi(nodes: usize, p: f64, rng: &mut Rng) -> Edges {
    let mut edges = Edges::none(nodes);
    for later in 1..nodes {
        for earlier in 0..later {
            if rng.chance(p) {
                edges.set(earlier, later, true);
            }
        }
    }
    edges
}

/// `m` is below `nodes`.
fn barabasi_albert(nodes: usize, m: usize, rng: &mut Rng) -> Edges {
    let mut edges = Edges::none(nodes);
    // Every node as often as it has edges; drawing from it is drawing in proportion to the degree.
    let mut ends: Vec<usize> = Vec::new();
    let mut targets: BTreeSet<usize> = (0..m).collect();
    for node in m..nodes {
        for &target in &targets {
            edges.set(node, target, true);
            ends.extend([node, target]);
        }
        targets.clear();
        while targets.len() < m {
            targets.insert(ends[rng.index(ends.len())]);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(edges: &Edges) -> usize {
        edges.orient().iter().map(Vec::len).sum()
    }

    #[test]
    fn edge_counts_are_those_of_the_definitions() {
        for seed in 0..20 {
            let rng = &mut Rng::new(seed, 0);
            assert_eq!(count(&watts_strogatz(32, 4, 0.75, rng)), 64);
            assert_eq!(count(&watts_strogatz(5, 4, 1.0, rng)), 10);
            assert_eq!(count(&barabasi_albert(32, 5, rng)), 27 * 5);
            assert_eq!(count(&erdos_renyi(10, 1.0, rng)), 45);
            assert_eq!(count(&erdos_renyi(10, 0.0, rng)), 0);
            let some = count(&erdos_renyi(100, 0.2, rng));
            assert!((850..1130).contains(&some), "{some}");
        }
    }

    #[test]
    fn without_rewiring_the_ring_stays() {
        let edges = watts_strogatz(6, 2, 0.0, &mut Rng::new(0, 0)).orient();
        assert_eq!(edges, [vec![], vec![0], vec![1], vec![2], vec![3], vec![0, 4]]);
    }
}
