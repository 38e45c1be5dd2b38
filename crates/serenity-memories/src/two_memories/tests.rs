use super::*;
use serenity_arena::{Buffer, Options, Overlap, Planner, Sharing, place};
use serenity_search::Random;

fn instance(random: &mut Random) -> (Problem, Vec<Traffic>) {
    let count = 1 + random.below(8);
    let buffers = (0..count)
        .map(|_| {
            let first = random.below(6) as i64;
            Buffer::new(1 + random.below(20), first..first + 1 + random.below(4) as i64)
        })
        .collect::<Vec<_>>();
    let traffic =
        buffers.iter().map(|b| Traffic { read: b.size * random.below(4), written: b.size }).collect();
    let mut overlaps = Vec::new();
    for (writer, y) in buffers.iter().enumerate() {
        for (over, x) in buffers.iter().enumerate() {
            if y.lower + 1 == x.upper && x.lower < y.lower && random.below(2) == 0 {
                overlaps.push(Overlap::below(writer, over, random.below(3)));
            }
        }
    }
    let alignment = 1 + random.below(4);
    (Problem::new(buffers, alignment).unwrap().with_overlaps(overlaps).unwrap(), traffic)
}

fn height(problem: &Problem, members: &[usize]) -> u64 {
    let position = |b| members.iter().position(|&m| m == b);
    let overlaps = problem
        .overlaps()
        .iter()
        .filter_map(|o| Some(Overlap { writer: position(o.writer)?, over: position(o.over)?, ..*o }));
    let buffers = members.iter().map(|&b| problem.buffers()[b]).collect();
    let part = Problem::new(buffers, problem.alignment()).unwrap().with_overlaps(overlaps.collect()).unwrap();
    place(&part, &Options::new(Planner::Exact)).height
}

/// The least slow traffic of all choices.
fn least(problem: &Problem, traffic: &[Traffic], capacities: [u64; 2]) -> Option<u64> {
    let count = traffic.len();
    (0..1_u32 << count)
        .filter_map(|chosen| {
            let side = |fast: bool| -> Vec<usize> {
                (0..count).filter(|b| (chosen >> b & 1 == 1) == fast).collect()
            };
            let fits = height(problem, &side(true)) <= capacities[0]
                && height(problem, &side(false)) <= capacities[1];
            fits.then(|| side(false).iter().map(|&b| traffic[b].bytes()).sum())
        })
        .min()
}

#[test]
fn a_division_is_valid_close_to_the_best_and_never_below_the_bound() {
    let mut random = Random(1);
    let (mut divided, mut best, mut proved, mut refused, mut in_vain) = (0, 0, 0, 0, 0);
    for round in 0..600 {
        let (problem, traffic) = instance(&mut random);
        let all: Vec<usize> = (0..traffic.len()).collect();
        let top = height(&problem, &all);
        let fast = random.below(top + 4);
        // Sometimes there is hardly room for the rest.
        let slow = if round % 3 == 0 { top.saturating_sub(fast) + random.below(8) } else { 1000 };
        let memories = [Memory::new("fast", fast), Memory::new("slow", slow)];
        let optimum = least(&problem, &traffic, [fast, slow]);
        match divide(&problem, &traffic, memories, &Limits::default()) {
            Ok(division) => {
                assert_eq!(division.fault(&problem), None, "round {round}");
                let found = division.memories[1].traffic.bytes();
                let optimum = optimum.unwrap();
                assert!(division.bound <= optimum && optimum <= found, "round {round}");
                assert_eq!(division.proof == Proof::Optimal, found == division.bound);
                divided += 1;
                best += usize::from(found == optimum);
                proved += usize::from(found == division.bound);
                assert!(found as f64 <= optimum as f64 * 1.5 + 20.0, "round {round}: {found}, {optimum}");
            }
            Err(error) => {
                refused += 1;
                in_vain += usize::from(optimum.is_some());
                assert!(error.missing > 0 && (!error.proved || optimum.is_none()), "round {round}");
                assert!(slow < 1000, "round {round}: the slow memory holds everything");
            }
        }
    }
    println!("{divided} divided, {best} of them best, {proved} proved; {refused} refused, {in_vain} in vain");
    assert!(best * 100 >= divided * 95, "only {best} of {divided} are the best");
    assert!(divided > 450 && proved > 400, "{divided} {proved}");
    assert!(in_vain * 20 <= divided, "{in_vain} were refused although there is a way");
}

#[test]
fn what_fits_the_fast_memory_lies_there() {
    let input = serenity::load("zoo:swiftnet-a").unwrap();
    let options =
        serenity_pipeline::Options { model: input.default_model, ..serenity_pipeline::Options::default() };
    let plan = serenity_pipeline::plan_graphs(input.graphs(), &options).unwrap();
    let divided = |fast: u64, slow: u64| {
        let memories = [Memory::new("fast", fast), Memory::new("slow", slow)];
        let Touched { arena, traffic } = Touched::new(input.graphs(), plan.model, &plan.orders()).unwrap();
        let division =
            Touched { arena: arena.clone(), traffic }.divide(memories, [1, 1], &Limits::default())?;
        assert_eq!(division.fault(&arena.problem), None);
        Ok::<_, NoRoom>(TwoMemories { arena, division })
    };
    let all = divided(200_704, 0).unwrap().division;
    assert_eq!((all.memories[1].traffic.bytes(), all.bound, all.proof), (0, 0, Proof::Optimal));
    let some = divided(100_000, 1_000_000).unwrap();
    let [fast, slow] = &some.division.memories;
    assert!(fast.used <= 100_000 && slow.traffic.bytes() >= some.division.bound && some.division.bound > 0);
    // Nothing is lost on the way.
    let whole = all.memories[0].traffic;
    assert_eq!(fast.traffic.plus(slow.traffic), whole);
    let listed = serde_json::json!(some.stated(input.graphs()));
    assert_eq!((&listed[0]["name"], &listed[1]["capacity"]), (&"fast".into(), &1_000_000.into()));
    // Two bytes too few, whatever lies where.
    let error = divided(100_000, 100_702).unwrap_err();
    assert!(error.to_string().contains("2 bytes too few, whatever lies where"), "{error}");
}

#[test]
fn an_op_reads_an_input_once_and_scratch_counts_twice() {
    let mut g = serenity_ir::GraphBuilder::new("");
    let x = g.input(serenity_ir::Tensor::sized("x", 100));
    let a = g.op("a", "MUL", &[x, x], serenity_ir::Tensor::sized("a", 10));
    let b = g.op("b", "ADD", &[a, x], serenity_ir::Tensor::sized("b", 10));
    g.output(b);
    let graph = &g.build().unwrap().with_workspace(OpId(0), 48);
    let model = serenity_runtimes::MemoryModel::Tflm(serenity_runtimes::Kernels::Any);
    let arena = model.placement_problem(&[graph], &[&graph.file_order()]).unwrap();
    let moved: Vec<(u64, u64)> =
        traffic(&[graph], &arena).iter().map(|traffic| (traffic.read, traffic.written)).collect();
    assert_eq!(moved, [(200, 0), (10, 10), (0, 10), (48, 48)]);
}

#[test]
fn a_time_limit_ends_the_search_with_a_valid_division() {
    let (problem, traffic) = instance(&mut Random(7));
    let memories = [Memory::new("fast", 10), Memory::new("slow", 1000)];
    let limits = Limits::lasting(std::time::Duration::ZERO);
    let division = divide(&problem, &traffic, memories, &limits).unwrap();
    assert_eq!(division.fault(&problem), None);
}

/// By trying every offset: the memory and the place of each buffer.
fn first_fit(problem: &Problem, capacities: [u64; 2]) -> Option<Vec<(usize, u64)>> {
    let mut order: Vec<usize> = (0..problem.buffers().len()).collect();
    order.sort_by_key(|&b| problem.buffers()[b].lower);
    let mut placed: [Vec<(usize, u64)>; 2] = Default::default();
    let mut places = vec![(0, 0); order.len()];
    for b in order {
        let mut all =
            [0, 1].into_iter().flat_map(|memory| (0..=capacities[memory]).map(move |at| (memory, at)));
        let (memory, at) = all.find(|&(memory, at)| {
            let with: Vec<_> = placed[memory].iter().copied().chain([(b, at)]).collect();
            at % problem.alignment() == 0
                && at + problem.buffers()[b].size <= capacities[memory]
                && clash(problem, &with).is_none()
        })?;
        placed[memory].push((b, at));
        places[b] = (memory, at);
    }
    Some(places)
}

#[test]
fn obvious_divisions_are_valid_and_do_what_they_say() {
    let mut random = Random(2);
    let mut fitted = [0; 3];
    for round in 0..600 {
        let (problem, traffic) = instance(&mut random);
        let mut overlaps = problem.overlaps().to_vec();
        for overlap in &mut overlaps {
            let [below, above] = [random.below(4), 1 + random.below(4)];
            match random.below(3) {
                0 => overlap.how = Sharing::SameOffset,
                1 => overlap.how = Sharing::EitherWay { below, above: above.try_into().unwrap() },
                _ => {}
            }
        }
        let problem = Problem::new(problem.buffers().to_vec(), problem.alignment()).unwrap();
        let problem = problem.with_overlaps(overlaps).unwrap();
        let all: Vec<usize> = (0..traffic.len()).collect();
        let top = height(&problem, &all);
        let capacities = [random.below(top + 4), top - random.below(3).min(top)];
        for (way, fitted) in Obvious::ALL.into_iter().zip(&mut fitted) {
            let memories = [Memory::new("fast", capacities[0]), Memory::new("slow", capacities[1])];
            let division = way.divide(&problem, &traffic, memories, &Limits::default());
            let mut places = vec![(0, 0); traffic.len()];
            if let Some(division) = &division {
                *fitted += 1;
                assert_eq!(division.fault(&problem), None, "{way:?}, round {round}");
                let slow = &division.memories[1];
                let bytes = slow.buffers.iter().map(|&(b, _)| traffic[b].bytes()).sum::<u64>();
                assert_eq!(bytes, slow.traffic.bytes());
                assert!(bytes >= least(&problem, &traffic, capacities).unwrap(), "{way:?}, round {round}");
                for (memory, filled) in division.memories.iter().enumerate() {
                    filled.buffers.iter().for_each(|&(b, at)| places[b] = (memory, at));
                }
            }
            let in_slow: Vec<usize> = all.iter().copied().filter(|&b| places[b].0 == 1).collect();
            let in_slow = division.as_ref().map(|_| in_slow);
            match way {
                Obvious::FirstFit => {
                    let expected = first_fit(&problem, capacities);
                    assert_eq!(division.map(|_| places), expected, "round {round}");
                }
                Obvious::LargestSlow => {
                    let mut by_size = all.clone();
                    by_size.sort_by_key(|&b| std::cmp::Reverse(problem.buffers()[b].size));
                    let count = (0..=all.len()).find(|&count| {
                        let (slow, fast) = by_size.split_at(count);
                        height(&problem, fast) <= capacities[0] && height(&problem, slow) <= capacities[1]
                    });
                    let expected = count.map(|count| {
                        let mut slow = by_size[..count].to_vec();
                        slow.sort_unstable();
                        slow
                    });
                    assert_eq!(in_slow, expected, "round {round}");
                }
                Obvious::AllSlow => {
                    assert_eq!(in_slow, (top <= capacities[1]).then_some(all.clone()), "round {round}");
                }
            }
        }
    }
    assert!(fitted.iter().all(|&count| (150..600).contains(&count)), "{fitted:?}");
}
