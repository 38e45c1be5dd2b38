//! Divide and conquer: section 3.2 and figure 7 of the paper.
//!
//! A *cut node* is an op that every other op runs before or after in all orders. Networks made of cells with one input
//! and one output have one between any two cells (the paper calls them hourglass-shaped). When a cut node has run, exactly its
//! ancestors have run before it, whatever the order; so the pieces between cut nodes can be scheduled on their own, and the
//! concatenation of optimal pieces is optimal.

use crate::answer::Answer;
use crate::{Problem, bounds, walk};
use serenity_search::{StopReason, Watch};

/// The pieces: ops up to and including each cut node, and what follows the last.
pub(crate) fn pieces(problem: &Problem) -> Vec<Vec<u32>> {
    let order = &problem.topological;
    let last = problem.len();
    let mut position = vec![0; last];
    for (i, &op) in order.iter().enumerate() {
        position[op as usize] = i;
    }
    // Let v stand at position i of a topological order. All before it lead to it iff each has a successor at or before i: follow
    // these, they can only end at v. So it suffices to know the largest "first successor" among those before i; and likewise
    // the smallest "last predecessor" among those after i.
    let first_successor = |op: u32| {
        problem.successors[op as usize].iter().map(|&s| position[s as usize]).min().unwrap_or(usize::MAX)
    };
    let last_predecessor = |op: u32| {
        problem.predecessors[op as usize].iter().map(|&p| position[p as usize] as i64).max().unwrap_or(-1)
    };
    let mut all_after_follow = vec![true; last];
    let mut nearest = i64::MAX;
    for i in (0..last).rev() {
        all_after_follow[i] = nearest >= i as i64;
        nearest = nearest.min(last_predecessor(order[i]));
    }
    let mut pieces = vec![Vec::new()];
    let mut farthest = 0;
    for i in 0..last {
        let open = pieces.len() - 1;
        pieces[open].push(order[i]);
        if farthest <= i && all_after_follow[i] && i + 1 < last {
            pieces.push(Vec::new());
        }
        farthest = farthest.max(first_successor(order[i]));
    }
    pieces
}

/// What became of one piece.
pub(crate) enum Solved {
    /// No order of the piece peaks below this one.
    Optimal { order: Vec<u32>, peak: u64 },
    /// A limit came first; no order of the piece peaks below `at_least`.
    Stopped { reason: StopReason, at_least: u64 },
}

/// Schedules each of `pieces` with `solve` and concatenates the results. From the piece on that `solve` does not
/// finish, the order is that of `incumbent`: any order of the whole runs through the pieces one after the other.
pub(crate) fn conquer(
    problem: &Problem,
    pieces: &[Vec<u32>],
    incumbent: &[u32],
    watch: &mut Watch,
    mut solve: impl FnMut(&Problem, &mut Watch) -> Solved,
) -> Answer {
    let mut combined = Answer {
        order: Vec::with_capacity(problem.len()),
        at_least: bounds::simple(problem),
        stopped: None,
        sizes: pieces.iter().map(Vec::len).collect(),
        refutation: Vec::new(),
    };
    let peaks_from = peaks_from(problem, incumbent);
    let mut peak = problem.at_start();
    for segment in problem.segments(pieces) {
        match solve(&segment.problem, watch) {
            Solved::Optimal { order, peak: of_piece } => {
                combined.order.extend(segment.lift(&order));
                combined.at_least = combined.at_least.max(of_piece);
                peak = peak.max(of_piece);
            }
            Solved::Stopped { reason, at_least } => {
                combined.order.extend(&incumbent[combined.order.len()..]);
                combined.at_least = combined.at_least.max(at_least);
                combined.stopped = Some(reason);
                break;
            }
        }
        watch.raise_bound(combined.at_least);
        watch.best = watch.best.min(peak.max(peaks_from[combined.order.len()]));
    }
    combined
}

/// For every position of an order the most memory in use from there on.
fn peaks_from(problem: &Problem, order: &[u32]) -> Vec<u64> {
    let mut peaks = vec![0; order.len() + 1];
    for (i, step) in walk::steps_of(problem, order).iter().enumerate().rev() {
        peaks[i] = step.during.max(peaks[i + 1]);
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpIndex;

    fn problem(ops: u32, edges: &[(u32, u32)]) -> Problem {
        Problem::new(ops, Vec::new(), edges.iter().map(|&(a, b)| (OpIndex(a), OpIndex(b)))).unwrap()
    }

    #[test]
    fn an_hourglass_is_cut_at_its_waist() {
        // 0 -> {1, 2} -> 3 -> {4, 5}
        let p = problem(6, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5)]);
        assert_eq!(pieces(&p), [vec![0], vec![1, 2, 3], vec![4, 5]]);
    }

    #[test]
    fn an_edge_around_the_waist_removes_no_cut_but_a_second_source_does() {
        let p = problem(4, &[(0, 1), (1, 2), (0, 2), (2, 3)]);
        assert_eq!(pieces(&p).len(), 4);
        let p = problem(4, &[(0, 1), (1, 3), (2, 3)]);
        assert_eq!(pieces(&p), [vec![0, 1, 2, 3]]);
    }

    #[test]
    fn the_best_so_far_falls_piece_by_piece_and_the_rest_is_the_incumbent_s() {
        use crate::{Buffer, Limits};
        // Twice in series: one op, then a large and a small branch; to take the small one last is a mistake.
        let op = OpIndex;
        let buffers = [0, 3].into_iter().flat_map(|i| {
            [
                Buffer::produced(1, op(i), [op(i + 1), op(i + 2)]),
                Buffer::produced(9, op(i + 1), [op(i + 1)]),
                Buffer::produced(2, op(i + 2), [op(i + 3)]),
            ]
        });
        let edges = [(op(1), op(3)), (op(4), op(6))];
        let problem = Problem::new(7, buffers.collect(), edges).unwrap();
        let (incumbent, limits) = ([0, 2, 1, 3, 5, 4, 6], Limits::default());
        let mut watch = Watch::new(&limits, None);
        let mut best = Vec::new();
        let combined = conquer(&problem, &pieces(&problem), &incumbent, &mut watch, |piece, watch| {
            best.push(watch.best);
            if best.len() == 3 {
                return Solved::Stopped { reason: StopReason::Time, at_least: 5 };
            }
            let order: Vec<u32> = (0..piece.ops).collect();
            Solved::Optimal { peak: walk::peak_of(piece, &order), order }
        });
        assert_eq!(combined.order, [0, 1, 2, 3, 5, 4, 6]);
        assert_eq!((best, combined.stopped), (vec![u64::MAX, 12, 12], Some(StopReason::Time)));
        assert_eq!((combined.at_least, watch.bound), (10, 10));
    }

    #[test]
    fn pieces_cost_nothing_for_ops_elsewhere() {
        use crate::{Algorithm, Buffer, Options};
        // A chain in which every op also reads the one input: each piece touches a buffer that all others touch.
        let ops = 20_000;
        let mut buffers = vec![Buffer::given(1, (0..ops).map(OpIndex))];
        buffers.extend((1..ops).map(|op| Buffer::produced(2, OpIndex(op - 1), [OpIndex(op)])));
        let problem = Problem::new(ops, buffers, []).unwrap();
        let options = Options { algorithm: Algorithm::DpDivide, ..Options::default() };
        let found = crate::schedule(&problem, &options);
        assert_eq!((found.peak, found.stats.pieces.len()), (5, ops as usize));
        // A piece holds at most the input, what its op reads, and what it writes, each with that op alone.
        let held = |buffer: &Buffer| buffer.writers.len() + buffer.readers.len();
        let segments = problem.segments(&pieces(&problem));
        let sizes = segments.iter().map(|segment| segment.problem.buffers.iter().map(held).sum::<usize>());
        assert!(sizes.max() <= Some(3));
    }

    #[test]
    fn cut_nodes_are_the_ops_comparable_with_all_others() {
        // Every DAG on five ops whose edges go upwards, by bit mask over the ten pairs.
        let pairs: Vec<(u32, u32)> = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        for mask in 0..1_u32 << pairs.len() {
            let edges: Vec<_> = (0..pairs.len()).filter(|i| mask >> i & 1 != 0).map(|i| pairs[i]).collect();
            let mut reach = [[false; 5]; 5];
            for a in (0..5).rev() {
                for &(from, to) in edges.iter().filter(|e| e.0 == a) {
                    let row = reach[to as usize];
                    for (b, reached) in reach[from as usize].iter_mut().enumerate() {
                        *reached |= row[b] || b == to as usize;
                    }
                }
            }
            let cut = |v: usize| (0..5).all(|u| u == v || reach[u][v] || reach[v][u]);
            let expected: Vec<u32> = (0..4).filter(|&v| cut(v)).map(|v| v as u32).collect();
            let pieces = pieces(&problem(5, &edges));
            let found: Vec<u32> = pieces[..pieces.len() - 1].iter().map(|p| p[p.len() - 1]).collect();
            let last = pieces[pieces.len() - 1].last().copied();
            // The last op of all closes the last piece whether it is a cut node or not.
            let expected: Vec<u32> = expected.into_iter().filter(|&v| Some(v) != last).collect();
            assert_eq!(found, expected, "edges {edges:?}");
        }
    }
}
