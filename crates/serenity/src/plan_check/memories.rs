//! Checks a plan for two memories.

use super::verdict::Verdict;
use crate::{Input, PlanFile};
use serde_json::{Value, json};
use serenity_ir::Unknown;
use serenity_memories::two_memories::{Division, Filled, Memory, Touched, Traffic, TwoMemories, divide};
use serenity_runtimes::{ArenaProblem, Content, main_graph};
use serenity_search::{Limits, Proof, StopReason};
use std::collections::BTreeMap;

/// The memory (0 or 1) and the offset of each tensor or scratch buffer, by graph and tensor or op.
type Places = BTreeMap<(u64, u64), (usize, u64)>;

/// The orders of the plan must have been checked.
pub(super) fn check(planned: &Input, plan: &PlanFile, deep: Option<&Limits>, verdict: &mut Verdict) {
    let Some(said) = plan.fields.get("memories") else { return };
    let buffers = Touched::new(planned.graphs(), verdict.model, &plan.orders());
    let Some(Touched { arena, traffic: moved }) = buffers else {
        verdict.refuted("memories", "the tensors of this model have no sizes that could be placed");
        return;
    };
    let Some(division) = divided(said, &arena, &moved) else {
        verdict.refuted(
            "memories",
            "`memories` must be two, each with `name`, `capacity`, `tensors` and `scratch`, and every tensor and scratch buffer must lie in one of them",
        );
        return;
    };
    if let Some(fault) = division.fault(&arena.problem) {
        verdict.refuted("memories", fault);
        return;
    }
    let counted = TwoMemories { arena, division };
    if let Some(fault) = difference(said, &json!(counted.stated(planned.graphs()))) {
        verdict.refuted("memories", fault);
        return;
    }
    verdict.verified(
        "memories",
        "every buffer lies in one of them, and nothing is written over while it is needed, by lifetimes of the pipeline's own code",
    );
    let hides = {
        let graph = main_graph(planned.graphs(), &plan.bodies, verdict.model);
        Unknown::any_hides_bytes(graph.unknown())
    };
    check_bound(plan, &counted, &moved, hides, deep, verdict);
}

/// Checks the lower bound for all divisions, and whether this one meets it.
fn check_bound(
    plan: &PlanFile,
    counted: &TwoMemories,
    moved: &[Traffic],
    hides_bytes: bool,
    deep: Option<&Limits>,
    verdict: &mut Verdict,
) {
    let slow = counted.division.memories[1].traffic.bytes();
    let Some(bound) = plan.fields.get("slow_bound").and_then(Value::as_u64).filter(|&bound| bound <= slow)
    else {
        let fault = format!("`slow_bound` must be a number of bytes, at most the {slow} that are moved");
        verdict.refuted("slow_bound", fault);
        return;
    };
    let word = if bound == slow && !hides_bytes { "optimal" } else { "gap" };
    if plan.fields.get("memories_proof").is_some_and(|said| said != word) {
        verdict.refuted("memories_proof", format!("`memories_proof` is \"{word}\" by the rest of the plan"));
        return;
    }
    let memories = counted.division.memories.clone().map(|filled| filled.memory);
    let again = deep.and_then(|limits| divide(&counted.arena.problem, moved, memories, limits).ok());
    for claim in ["slow_bound", "memories_proof"].into_iter().filter(|field| plan.fields.contains_key(*field))
    {
        match &again {
            // Anything below a lower bound is one too.
            Some(again) if bound <= again.bound => {
                verdict.verified(claim, "the pipeline's own search, run again, proves as much");
            }
            Some(_) => verdict.not_verified(claim, "the pipeline's own search, run again, proves less"),
            None => verdict.not_verified(claim, "it rests on the search; --deep runs that again"),
        }
    }
}

/// The division that the plan states; `None` if it leaves out a buffer.
fn divided(said: &Value, arena: &ArenaProblem, moved: &[Traffic]) -> Option<Division> {
    let [fast, slow] = said.as_array()?.as_slice() else { return None };
    let mut memories = [fast, slow].map(|memory| {
        let name = memory.get("name").and_then(Value::as_str).unwrap_or_default();
        let memory = Memory::new(name, memory.get("capacity").and_then(Value::as_u64).unwrap_or(0));
        Filled { memory, used: 0, traffic: Traffic::default(), buffers: Vec::new() }
    });
    let tensors = places([fast, slow], "tensors", "tensor")?;
    let scratch = places([fast, slow], "scratch", "op")?;
    for (buffer, content) in arena.contents.iter().enumerate() {
        let place = match *content {
            Content::Tensor { graph, tensor } => tensors.get(&(graph as u64, u64::from(tensor.0))),
            Content::Scratch { graph, op } => scratch.get(&(graph as u64, u64::from(op.0))),
        };
        let &(memory, offset) = place?;
        let filled = &mut memories[memory];
        let end = offset.checked_add(arena.problem.buffers()[buffer].size)?;
        filled.used = filled.used.max(end);
        filled.traffic = filled.traffic.plus(moved[buffer]);
        filled.buffers.push((buffer, offset));
    }
    Some(Division { memories, bound: 0, proof: Proof::Gap { stopped: StopReason::Heuristic } })
}

fn places(memories: [&Value; 2], list: &str, id: &str) -> Option<Places> {
    let mut places = Places::new();
    for (memory, said) in memories.into_iter().enumerate() {
        for item in said.get(list)?.as_array()? {
            let number = |key: &str| item.get(key)?.as_u64();
            places.insert((number("graph")?, number(id)?), (memory, number("offset")?));
        }
    }
    Some(places)
}

/// The first difference from what the plan says; tensors and scratch may be listed in any order.
fn difference(said: &Value, is: &Value) -> Option<String> {
    let sorted = |list: &Value| {
        let mut items: Vec<String> = list.as_array().into_iter().flatten().map(Value::to_string).collect();
        items.sort_unstable();
        items
    };
    for (memory, fields) in is.as_array()?.iter().enumerate() {
        for (field, value) in fields.as_object()? {
            let claimed = &said[memory][field];
            let is_same = if value.is_array() { sorted(claimed) == sorted(value) } else { claimed == value };
            if !is_same {
                let what = if value.is_array() {
                    "lists other places or sizes".to_owned()
                } else {
                    format!("is {value}, not {claimed}")
                };
                return Some(format!("`memories[{memory}].{field}` {what}"));
            }
        }
    }
    None
}
