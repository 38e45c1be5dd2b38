use super::*;
use crate::stages::rewrite::possible_rewrites;
use serenity_ir::sketch;

/// Partial results in another order than the one that was looked at.
#[test]
fn a_proof_is_about_all_orders_of_a_sum() {
    let graph = sketch(
        "x:float32[1,3,3,1]
         t1:float32[1,3,3,1] = CONV_2D x
         t2:float32[1,3,3,1] = DEPTHWISE_CONV_2D x
         t3:float32[1,3,3,2] = CONCATENATION t1 t2 axis=3
         t4:float32[1,3,3,2] = CONV_2D t3
         t5:float32[1,3,3,2] = TANH t4
         t6:float32[1,3,3,6] = CONCATENATION t5 t5 t4 axis=3
         t7:float32[1,3,3,6] = MUL t6 t6
         t8:float32[1,3,3,6] = RESHAPE t7
         t9:float32[1,3,3,14] = CONCATENATION t8 t7 t5 axis=3
         t10:float32[1,3,3,5] = CONV_2D t9
         -> t10",
    );
    let (input, options) = (Input::from(graph.clone()), Options::default());
    let candidates = possible_rewrites(&input, options.model, options.rewrites);
    let settings = rewrite_settings(options.model, options.rewrites);
    let evaluator = Evaluator::new(&graph, options.model, 0, &options);
    let mut least = u64::MAX;
    for bits in 0..1 << candidates.len() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let chosen = candidates.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
            let set: Vec<Patch> = chosen.map(|(_, patch)| patch.clone().with_order(order.to_vec())).collect();
            let graph = apply(&graph, &set, &settings).unwrap().graph;
            least = least.min(evaluator.schedule(&graph, &options.model.lifetimes(&graph), None).peak);
        }
    }
    let choice = choose_rewrites(&input, &candidates, &options, Look::first());
    assert!(choice.floor <= least && least < choice.after, "{} {least} {}", choice.floor, choice.after);
}
