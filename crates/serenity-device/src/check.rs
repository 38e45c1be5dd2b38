//! Checks a plan of a device by code of its own: it knows moments and bytes, and not how they were planned.

use crate::Kept;
use crate::app::App;
use crate::plan::DevicePlan;

/// Bytes of a memory that something holds, from its first moment to its last; between moments counts as well.
struct Held {
    what: String,
    memory: usize,
    bytes: std::ops::Range<u64>,
    moments: std::ops::RangeInclusive<usize>,
}

/// The first fault of a plan: bytes that two things hold at once, or that are not there. `arenas` and `kept` are what
/// the models say.
pub(crate) fn fault(app: &App, plan: &DevicePlan, arenas: &[u64], kept: &[Kept]) -> Option<String> {
    let mut held: Vec<Held> = Vec::new();
    for (model, parts) in plan.parts.iter().enumerate() {
        let name = &app.models[model].name;
        // What is divided has passed the check of its division.
        let divided = plan.divided[model].as_ref().map(|divided| divided.bytes.iter().sum());
        if parts.iter().map(|part| part.bytes).sum::<u64>() < divided.unwrap_or(arenas[model]) {
            return Some(format!("`{name}` has less than its arena"));
        }
        // Moments at odd numbers are between two others.
        let moment = 2 * app.moments().iter().position(|running| running.contains(&model))?;
        held.extend(parts.iter().map(|part| Held {
            what: format!("`{name}`"),
            memory: part.memory,
            bytes: part.offset..part.offset + part.bytes,
            moments: moment..=moment,
        }));
        if let Some(part) = parts.iter().find(|part| !app.models[model].memories.contains(&part.memory)) {
            return Some(format!("`{name}` may not lie in `{}`", app.memories[part.memory].name));
        }
    }
    for kept in &plan.handed {
        let from = 2 * app.moments().iter().position(|running| running.contains(&kept.from))?;
        // It may lie over what the model itself is done with, and over what the last one that takes it has not begun,
        // if a single copy is made there and nobody else runs.
        let moments = app.moments();
        let fed = |model: &usize| app.models[*model].feeds.len();
        let is_single = |moment: usize, copies: usize| moments[moment / 2].len() == 1 && copies == 1;
        let copies_out =
            app.models.iter().flat_map(|model| &model.feeds).filter(|feed| feed.from == kept.from);
        let mut outputs: Vec<usize> = copies_out.map(|feed| feed.output).collect();
        outputs.dedup();
        let copies_in = moments.get(kept.until)?.iter().map(fed).max().unwrap_or_default();
        let begin = if is_single(from, outputs.len()) { from + 1 } else { from };
        let end = if is_single(2 * kept.until, copies_in) { 2 * kept.until - 1 } else { 2 * kept.until };
        held.push(Held {
            what: format!("output {} of `{}`", kept.output, app.models[kept.from].name),
            memory: kept.memory,
            bytes: kept.offset..kept.offset + kept.bytes,
            moments: begin..=end,
        });
    }
    for (fed, model) in app.models.iter().enumerate() {
        for feed in &model.feeds {
            let [from, to] = [feed.from, fed].map(|model| app.moment(model));
            let is_kept = |kept: &&crate::Handed| {
                (kept.from, kept.output) == (feed.from, feed.output) && kept.until >= to
            };
            let runs_alone = app.moments().get(to).is_some_and(|running| running.len() == 1);
            let is_direct = from + 1 == to && runs_alone && model.feeds.len() == 1;
            if from >= to || !is_direct && !plan.handed.iter().any(|kept| is_kept(&kept)) {
                return Some(format!("`{}` loses its input {}", model.name, feed.input));
            }
        }
    }
    let mut states_of = vec![0; app.memories.len()];
    for Kept { models, memory, bytes } in kept {
        states_of[*memory] += bytes.arm32;
        let beside = |one: &usize, other: &usize| {
            one != other && app.together.iter().any(|set| set.contains(one) && set.contains(other))
        };
        if let Some(one) = models.iter().find(|one| models.iter().any(|other| beside(one, other))) {
            return Some(format!(
                "`{}` shares an allocator with one that may run beside it",
                app.models[*one].name
            ));
        }
    }
    for (model, said) in app.models.iter().enumerate() {
        let is_it = |kept: &&Kept| kept.models.contains(&model) && kept.memory == said.state;
        if kept.iter().filter(is_it).count() != 1 {
            return Some(format!("what `{}` keeps is not in its memory, once", said.name));
        }
    }
    for (memory, filled) in plan.memories.iter().enumerate() {
        let name = &app.memories[memory].name;
        let here = || held.iter().filter(|held| held.memory == memory);
        if filled.state < states_of[memory] || filled.shared + filled.state > app.memories[memory].size {
            return Some(format!("`{name}` overflows"));
        }
        if let Some(outside) =
            here().find(|held| held.bytes.end > filled.shared || held.bytes.start % 16 != 0)
        {
            return Some(format!("{} lies outside of `{name}`, or is not aligned", outside.what));
        }
        for (index, one) in here().enumerate() {
            if let Some(other) = here().skip(index + 1).find(|other| clash(one, other)) {
                return Some(format!("{} and {} share bytes of `{name}` at once", one.what, other.what));
            }
        }
    }
    None
}

fn clash(one: &Held, other: &Held) -> bool {
    one.bytes.start < other.bytes.end
        && other.bytes.start < one.bytes.end
        && one.moments.start() <= other.moments.end()
        && other.moments.start() <= one.moments.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{App, Feed, Form, Memory, Model};
    use crate::plan::{Filled, Handed, Part};
    use serenity::memories::two_memories::Traffic;
    use serenity_runtimes::TflmArena;
    use serenity_search::Proof;

    const SIZE: u64 = 64;

    fn model(name: &str, feeds: &[usize]) -> Model {
        let feeds = feeds.iter().enumerate().map(|(input, &from)| Feed { from, output: 0, input }).collect();
        let (file, memories) = (String::new(), vec![0]);
        Model {
            name: name.to_owned(),
            file,
            form: Form::Code,
            memories,
            state: 0,
            loops: None,
            int8_io: false,
            feeds,
        }
    }

    /// Three models of 32 bytes in 64, of which the last takes an output of the first; at most one is kept.
    fn app(together: Vec<Vec<usize>>) -> App {
        let (name, typed) = ("ram".to_owned(), SIZE.to_string());
        let memory = Memory { name, size: SIZE, typed, section: None, read: 1, write: 1 };
        let models = vec![model("a", &[]), model("b", &[]), model("c", &[0])];
        App { name: "app".to_owned(), memories: vec![memory], models, together }
    }

    fn plan(offsets: [u64; 3], kept: Option<u64>, shared: u64) -> DevicePlan {
        let part = |offset| vec![Part { memory: 0, offset, bytes: 32, traffic: Traffic::default() }];
        let handed = kept.map(|offset| Handed { from: 0, output: 0, until: 2, memory: 0, offset, bytes: 16 });
        DevicePlan {
            memories: vec![Filled { shared, state: 0, shared_bound: shared }],
            parts: offsets.map(part).into(),
            handed: handed.into_iter().collect(),
            cost: 0,
            bound: 0,
            proof: Proof::Optimal,
            slow_bound: 0,
            divided: vec![None; 3],
        }
    }

    #[track_caller]
    fn assert_fault(
        app: &App,
        plan: &DevicePlan,
        arenas: [u64; 3],
        states: [u64; 3],
        expected: Option<&str>,
    ) {
        let kept: Vec<Kept> = (0..3).map(|model| kept(&[model], states[model])).collect();
        assert_eq!(fault(app, plan, &arenas, &kept).as_deref(), expected);
    }

    fn kept(models: &[usize], bytes: u64) -> Kept {
        let bytes = TflmArena { arm32: bytes, x86_64: bytes };
        Kept { models: models.to_vec(), memory: 0, bytes }
    }

    #[test]
    fn allocators_are_shared_by_what_never_runs_at_once() {
        let right = plan([0, 32, 32], None, 64);
        let fault = |together: Vec<Vec<usize>>, kept: &[Kept]| {
            let mut app = app(together);
            app.models[2].feeds.clear();
            fault(&app, &right, &[32; 3], kept)
        };
        let apart = [kept(&[0], 0), kept(&[1, 2], 0)];
        assert_eq!(fault(vec![vec![0, 1]], &apart), None);
        let expected = Some("`a` shares an allocator with one that may run beside it".to_owned());
        assert_eq!(fault(vec![vec![0, 1]], &[kept(&[0, 1], 0), kept(&[2], 0)]), expected);
        let expected = Some("what `c` keeps is not in its memory, once".to_owned());
        assert_eq!(
            fault(Vec::new(), &apart[..1].iter().cloned().chain([kept(&[1], 0)]).collect::<Vec<_>>()),
            expected
        );
    }

    #[test]
    fn forged_plans_are_refused() {
        let (app, none) = (app(Vec::new()), [0; 3]);
        let right = plan([0, 0, 0], Some(32), 64);
        assert_fault(&app, &right, [32; 3], none, None);
        assert_fault(&app, &right, [33, 32, 32], none, Some("`a` has less than its arena"));
        assert_fault(&app, &right, [32; 3], [0, 16, 0], Some("`ram` overflows"));
        let lost = plan([0, 0, 0], None, 64);
        assert_fault(&app, &lost, [32; 3], none, Some("`c` loses its input 0"));
        let over = plan([0, 32, 0], Some(32), 64);
        let expected = "`b` and output 0 of `a` share bytes of `ram` at once";
        assert_fault(&app, &over, [32; 3], none, Some(expected));
        let outside = plan([0, 0, 48], Some(32), 64);
        let expected = "`c` lies outside of `ram`, or is not aligned";
        assert_fault(&app, &outside, [32; 3], none, Some(expected));
        let crooked = plan([0, 0, 8], Some(32), 64);
        assert_fault(&app, &crooked, [32; 3], none, Some(expected));
        assert_fault(&app, &plan([0, 0, 0], Some(32), 96), [32; 3], none, Some("`ram` overflows"));
    }

    #[test]
    fn what_runs_at_the_same_time_shares_nothing() {
        // The output is kept while `c`, which takes it, may be beside `b`.
        let app = app(vec![vec![1, 2]]);
        let (mut apart, none) = (plan([0, 0, 32], Some(0), 64), [0; 3]);
        apart.handed[0].until = 1;
        let expected = "`b` and output 0 of `a` share bytes of `ram` at once";
        assert_fault(&app, &apart, [32; 3], none, Some(expected));
        let mut same = plan([0, 0, 0], Some(32), 64);
        same.handed[0].until = 1;
        assert_fault(&app, &same, [32; 3], none, Some("`b` and `c` share bytes of `ram` at once"));
    }
}
