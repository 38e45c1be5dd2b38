//! Lists all orders of a graph that has few.

use serenity_ir::{Graph, OpId};

/// If all orders together have more steps than this, they are too many to count the traffic of each.
const MOST_STEPS: usize = 8_192;

/// Every order in which `graph` can run; `None` if there are too many.
pub(super) fn all_orders(graph: &Graph) -> Option<Vec<Vec<OpId>>> {
    let mut waits_for: Vec<usize> = graph.op_ids().map(|op| graph.predecessors(op).len()).collect();
    let most_orders = MOST_STEPS / waits_for.len().max(1);
    let mut orders = Vec::new();
    let mut order: Vec<OpId> = Vec::new();
    // For every op of `order` and the next one: the ops that could run there, the next to try last.
    let ready = |waits_for: &[usize], order: &[OpId]| -> Vec<OpId> {
        let mut has_run = vec![false; waits_for.len()];
        for op in order {
            has_run[op.index()] = true;
        }
        let mut ready: Vec<OpId> =
            graph.op_ids().filter(|op| waits_for[op.index()] == 0 && !has_run[op.index()]).collect();
        ready.reverse();
        ready
    };
    let mut choices = vec![ready(&waits_for, &order)];
    let mut steps_left = MOST_STEPS;
    while let Some(choice) = choices.last_mut() {
        let Some(op) = choice.pop() else {
            choices.pop();
            if let Some(op) = order.pop() {
                for reader in successors(graph, op) {
                    waits_for[reader.index()] += 1;
                }
            }
            continue;
        };
        if steps_left == 0 {
            return None;
        }
        steps_left -= 1;
        order.push(op);
        for reader in successors(graph, op) {
            waits_for[reader.index()] -= 1;
        }
        if order.len() == waits_for.len() {
            if orders.len() == most_orders {
                return None;
            }
            orders.push(order.clone());
        }
        choices.push(ready(&waits_for, &order));
    }
    Some(orders)
}

/// The ops that wait for `op`, without repetition.
fn successors(graph: &Graph, op: OpId) -> Vec<OpId> {
    let outputs = graph.op(op).outputs.iter();
    let mut ops: Vec<OpId> = outputs.flat_map(|&t| graph.consumers(t)).copied().collect();
    ops.sort_unstable();
    ops.dedup();
    ops
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::sketch;

    /// `wide` ops beside each other, each behind the same source.
    fn fan(wide: usize) -> Graph {
        let ops: Vec<String> = (0..wide).map(|op| format!("y{op}:1 = X s s; -> y{op};")).collect();
        sketch(&format!("x:1; s:1 = X x; {}", ops.concat()))
    }

    #[test]
    fn few_are_listed_once_and_many_are_refused() {
        let orders = all_orders(&fan(5)).unwrap();
        let mut different = orders.clone();
        different.sort();
        different.dedup();
        assert_eq!((orders.len(), different.len()), (120, 120));
        assert!(orders.iter().all(|order| fan(5).check_order(order).is_ok()));
        assert_eq!(all_orders(&fan(7)), None);
        assert_eq!(all_orders(&fan(3000)), None);
    }
}
