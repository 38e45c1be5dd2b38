//! The switches of the exact engine.

/// The rules of the exact engine that are on. All are on by default, and none changes the answer; they exist so that a
/// benchmark can show what each gains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "one independent switch a rule")]
pub struct Rules {
    /// R1: commit to a valley of the root.
    pub commit: bool,
    /// R2: make moves at once that do not raise the memory in use.
    pub eager: bool,
    /// R3: reduce any valley to its largest minimiser. Without, only valleys that are minimisers already are committed to.
    pub minimise_valleys: bool,
    /// R4: split at the minimisers of the memory in use.
    pub global_waypoints: bool,
    /// R5: split at cut nodes and at sets that are lowest among their surroundings.
    pub local_waypoints: bool,
    /// R6: run lazy ops together with the op that needs them.
    pub lazy: bool,
    /// R7: let the decision procedure work from whichever end is higher.
    pub direction: bool,
    /// R8: use the decision procedure with inner commitments.
    pub descent: bool,
    /// R9: let it look only at components that the last moves touch.
    pub components: bool,
    /// R10: replace modules by chains before anything else.
    pub modules: bool,
    /// R11: where floods take long and most ops let nothing go, let others branch over what is let go next.
    pub releases: bool,
    /// Replace trees by chains before everything else, modules included.
    pub trees: bool,
    /// L1: bound by a minimum cut for each op.
    pub cut_bound: bool,
    /// L2: precedence that all orders better than the best have in common, by cuts, for parts that take long.
    pub precedence: bool,
    /// Look for more precedence by trying both orders of a pair.
    pub probing: bool,
    /// Search from the end as well as from the start.
    pub backward: bool,
    /// After commitments, split what is left again.
    pub reroot: bool,
    /// Look for good orders by beam search before proving anything.
    pub beam: bool,
    /// Look for good orders of wide problems by local search.
    pub local_search: bool,
    /// How many states the first round of each direction explores. The heavier machinery starts after a multiple of it,
    /// so a small value makes tests reach it on small problems.
    pub patience: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            commit: true,
            eager: true,
            minimise_valleys: true,
            global_waypoints: true,
            local_waypoints: true,
            lazy: true,
            direction: true,
            descent: true,
            components: true,
            modules: true,
            releases: true,
            trees: true,
            cut_bound: true,
            precedence: true,
            probing: true,
            backward: true,
            reroot: true,
            beam: true,
            local_search: true,
            patience: 64,
        }
    }
}

/// A rule's name, and how to reach its switch.
type Switch = (&'static str, fn(&mut Rules) -> &mut bool);

const SWITCHES: &[Switch] = &[
    ("commit", |r| &mut r.commit),
    ("eager", |r| &mut r.eager),
    ("minimise-valleys", |r| &mut r.minimise_valleys),
    ("global-waypoints", |r| &mut r.global_waypoints),
    ("local-waypoints", |r| &mut r.local_waypoints),
    ("lazy", |r| &mut r.lazy),
    ("direction", |r| &mut r.direction),
    ("descent", |r| &mut r.descent),
    ("components", |r| &mut r.components),
    ("modules", |r| &mut r.modules),
    ("releases", |r| &mut r.releases),
    ("trees", |r| &mut r.trees),
    ("cut-bound", |r| &mut r.cut_bound),
    ("precedence", |r| &mut r.precedence),
    ("probing", |r| &mut r.probing),
    ("backward", |r| &mut r.backward),
    ("reroot", |r| &mut r.reroot),
    ("beam", |r| &mut r.beam),
    ("local-search", |r| &mut r.local_search),
];

impl Rules {
    /// The names of all rules.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SWITCHES.iter().map(|&(name, _)| name)
    }

    /// Turns the rule of this name off; false if there is no such rule.
    pub fn turn_off(&mut self, name: &str) -> bool {
        let switch = SWITCHES.iter().find(|(known, _)| *known == name);
        if let Some((_, switch)) = switch {
            *switch(self) = false;
        }
        switch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_and_turns_off_nothing_else() {
        let all = Rules::default();
        let mut none = Rules::default();
        let mut seen = Vec::new();
        for name in Rules::names() {
            let mut rules = Rules::default();
            assert!(rules.turn_off(name) && rules != all && !seen.contains(&rules), "{name}");
            seen.push(rules);
            assert!(none.turn_off(name));
        }
        // Each is one switch, so all of them leave none on.
        assert!(!format!("{none:?}").contains("true"));
        assert!(!none.turn_off("magic"));
        assert_eq!(none.patience, all.patience);
    }
}
