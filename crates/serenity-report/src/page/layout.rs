//! Where the ops of a network stand: in layers, readers below writers, with few crossings.
//!
//! Layers are ours: each op stands one below the lowest that it reads from, and what reads nothing right above its
//! first reader. Then every edge that is longer than one layer is cut into pieces of one, so that long edges have ways
//! of their own between the ops. The order within the layers and the coordinates are found by `rust-sugiyama`.

use rust_sugiyama::configure::{Config, CrossingMinimization, RankingType};

/// The size of an op, and the room between two of them.
pub(crate) const WIDE: f64 = 222.0;
pub(crate) const HIGH: f64 = 44.0;
const BETWEEN: f64 = 26.0;
const LAYER: f64 = HIGH + 34.0;
/// How wide the way of a long edge is.
const WAY: f64 = 10.0;
/// More pieces than this would take too long: then ops stand in their layers as they come.
const MOST_PIECES: usize = 12_000;

/// Ops with their places, the way of each edge, and how large all of it is.
pub(crate) struct Layout {
    /// The middle of each op.
    pub(crate) ops: Vec<(f64, f64)>,
    /// The points between which each edge runs.
    pub(crate) ways: Vec<Vec<(f64, f64)>>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Lays out `count` ops; each edge goes from an op to one with a higher number.
pub(crate) fn layout(count: usize, edges: &[(usize, usize)]) -> Layout {
    let layers = layers(count, edges);
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    let mut inner: Vec<Vec<u32>> = Vec::new();
    let mut vertices: Vec<(u32, (f64, f64))> = (0..count as u32).map(|op| (op, (WIDE, HIGH))).collect();
    for &(from, to) in edges {
        let mut last = from as u32;
        let mut between = Vec::new();
        for _ in layers[from] + 1..layers[to] {
            let next = vertices.len() as u32;
            if vertices.len() > MOST_PIECES {
                return as_they_come(&layers, edges);
            }
            vertices.push((next, (WAY, HIGH)));
            pieces.push((last, next));
            between.push(next);
            last = next;
        }
        pieces.push((last, to as u32));
        inner.push(between);
    }
    let xs = across(&vertices, &pieces);
    let y = |layer: usize| layer as f64 * LAYER + HIGH;
    let ops: Vec<(f64, f64)> = (0..count).map(|op| (xs[op], y(layers[op]))).collect();
    let ways = edges.iter().zip(&inner).map(|(&(from, to), between)| {
        let inside = between.iter().enumerate().map(|(at, &v)| (xs[v as usize], y(layers[from] + 1 + at)));
        way(ops[from], inside, ops[to])
    });
    let ways = ways.collect();
    sized(ops, ways)
}

/// The layer of each op, the first is 0.
fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut sorted = edges.to_vec();
    sorted.sort_unstable();
    let mut layers = vec![0; count];
    for &(from, to) in &sorted {
        layers[to] = layers[to].max(layers[from] + 1);
    }
    let mut reads = vec![false; count];
    let mut first_reader = vec![usize::MAX; count];
    for &(from, to) in &sorted {
        reads[to] = true;
        first_reader[from] = first_reader[from].min(layers[to]);
    }
    for op in (0..count).filter(|&op| !reads[op] && first_reader[op] != usize::MAX) {
        layers[op] = first_reader[op] - 1;
    }
    layers
}

/// Where each vertex stands from left to right; parts of a network that have nothing in common stand beside each other.
fn across(vertices: &[(u32, (f64, f64))], pieces: &[(u32, u32)]) -> Vec<f64> {
    let config = Config {
        vertex_spacing: BETWEEN,
        dummy_vertices: true,
        // All pieces are one layer long already, which nothing can shorten.
        ranking_type: RankingType::MinimizeEdgeLength,
        c_minimization: CrossingMinimization::Barycenter,
        transpose: vertices.len() < 3000,
        ..Config::default()
    };
    let mut xs = vec![0.0; vertices.len()];
    let mut left = 0.0;
    let mut parts = rust_sugiyama::from_vertices_and_edges(vertices, pieces, &config);
    // The crate promises no order of the parts.
    parts.sort_by_key(|(part, ..)| part.iter().map(|(vertex, _)| *vertex).min());
    for (part, ..) in parts {
        let wide = |vertex: usize| vertices[vertex].1.0 / 2.0;
        let low = part.iter().map(|&(v, (x, _))| x - wide(v)).fold(f64::INFINITY, f64::min);
        let high = part.iter().map(|&(v, (x, _))| x + wide(v)).fold(f64::NEG_INFINITY, f64::max);
        for (vertex, (x, _)) in part {
            xs[vertex] = left + x - low;
        }
        left += high - low + BETWEEN;
    }
    xs
}

/// Every op in its layer, in the order in which they run: quick whatever the network.
fn as_they_come(layers: &[usize], edges: &[(usize, usize)]) -> Layout {
    let mut filled = vec![0_usize; layers.iter().max().map_or(1, |last| last + 1)];
    let ops: Vec<(f64, f64)> = layers
        .iter()
        .map(|&layer| {
            filled[layer] += 1;
            (filled[layer] as f64 * (WIDE + BETWEEN) - WIDE / 2.0, layer as f64 * LAYER + HIGH)
        })
        .collect();
    let ways = edges.iter().map(|&(from, to)| way(ops[from], std::iter::empty(), ops[to])).collect();
    sized(ops, ways)
}

/// From the lower edge of one op to the upper edge of another.
fn way(from: (f64, f64), inside: impl Iterator<Item = (f64, f64)>, to: (f64, f64)) -> Vec<(f64, f64)> {
    let first = (from.0, from.1 + HIGH / 2.0);
    let last = (to.0, to.1 - HIGH / 2.0);
    std::iter::once(first).chain(inside).chain([last]).collect()
}

fn sized(ops: Vec<(f64, f64)>, ways: Vec<Vec<(f64, f64)>>) -> Layout {
    let width =
        ops.iter().map(|op| op.0 + WIDE / 2.0).chain(ways.iter().flatten().map(|p| p.0)).fold(0.0, f64::max);
    let height = ops.iter().map(|op| op.1 + HIGH / 2.0).fold(0.0, f64::max);
    Layout { ops, ways, width: width + BETWEEN, height: height + BETWEEN }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deterministic network of chains with jumps.
    fn network(count: usize) -> Vec<(usize, usize)> {
        let mut edges: Vec<(usize, usize)> = (1..count).map(|op| (op - 1, op)).collect();
        edges.extend((20..count).step_by(3).map(|op| (op - 3 - op * 7 % 17, op)));
        edges
    }

    #[test]
    fn readers_stand_below_writers_and_nobody_over_another() {
        for edges in [network(120), vec![(0, 2), (1, 2), (3, 4)], vec![(0, 1)]] {
            let count = edges.iter().map(|edge| edge.1).max().unwrap_or(0) + 1;
            let layout = layout(count, &edges);
            assert!(edges.iter().all(|&(from, to)| layout.ops[from].1 < layout.ops[to].1));
            for a in 0..count {
                for b in 0..a {
                    let (one, other) = (layout.ops[a], layout.ops[b]);
                    assert!((one.1 - other.1).abs() >= HIGH || (one.0 - other.0).abs() >= WIDE, "{a} {b}");
                }
            }
            assert!(
                layout
                    .ops
                    .iter()
                    .all(|op| op.0 >= WIDE / 2.0 - 1.0 && op.0 < layout.width && op.1 < layout.height)
            );
        }
    }

    #[test]
    fn the_same_network_is_laid_out_the_same_and_any_size_is() {
        let once = layout(300, &network(300)).ops;
        assert_eq!(once, layout(300, &network(300)).ops);
        assert_eq!(layout(0, &[]).ops.len(), 0);
        assert_eq!(layout(3, &[]).ops.len(), 3);
        let star: Vec<(usize, usize)> =
            (1..20_000).map(|op| (op - 1, op)).chain((2..20_000).map(|op| (0, op))).collect();
        assert_eq!(layout(20_000, &star).ways.len(), star.len());
    }
}
