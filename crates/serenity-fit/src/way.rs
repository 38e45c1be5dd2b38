//! The ways to run a model in less memory, as a list.

use serenity_runtimes::Kernels;
use std::fmt;

/// A change that can be permitted or forbidden by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another order of the operators, and a place for every tensor.
    Plan,
    /// Operators replaced by others that compute the same, and channels left out that are not needed.
    Rewrites,
    /// The kernels that TFLM is built with are known.
    Kernels,
    /// Windows of operators run as loops over a few rows at a time.
    Loops,
    /// Inputs and outputs are integers instead of floats.
    Int8Io,
    /// C code takes the place of the interpreter.
    Code,
    /// The application hands over the rows of the input as they come.
    Stream,
}

serenity_search::named! { "change": Change { "plan" => Plan, "rewrites" => Rewrites, "kernels" => Kernels, "loops" => Loops, "int8-io" => Int8Io, "c" => Code, "stream" => Stream } }

impl Change {
    /// The changes that may be made: those that are named with all that they are made of, or all if none is named, but
    /// not those that are forbidden.
    pub fn allowed(named: &[Self], forbidden: &[Self]) -> Vec<Self> {
        let is_named = |change: Self| named.is_empty() || named.iter().any(|named| named.includes(change));
        let all = Self::all().map(|(_, change)| change);
        all.filter(|&change| is_named(change) && !forbidden.contains(&change)).collect()
    }

    /// Is this change made of the other one, too?
    fn includes(self, other: Self) -> bool {
        self == other
            || match other {
                Self::Plan => true,
                Self::Rewrites => self != Self::Plan,
                Self::Code => self == Self::Stream,
                _ => false,
            }
    }
}

/// One way to run a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a change, and changes are combined")]
pub struct Way {
    /// Are operators ordered and tensors placed?
    pub is_planned: bool,
    /// Are operators replaced?
    pub rewrites: bool,
    /// The kernels to name, where none were.
    pub kernels: Option<Kernels>,
    /// Are there loops?
    pub loops: bool,
    /// Do inputs and outputs become integers?
    pub int8_io: bool,
    /// Does C code take the place of the interpreter?
    pub is_code: bool,
    /// Do rows of the input come one by one?
    pub is_pushed: bool,
    /// Do windows over time keep what they have in common? Then new rows alone come in: to C code one by one, to TFLM
    /// all of a hop at once.
    pub is_slid: bool,
}

/// Kernels that may be named where none were. Others gain nothing that one of these does not.
const KERNELS: [Kernels; 2] = [Kernels::Reference, Kernels::CmsisNn];

impl Way {
    /// The model, ordered and placed, and not changed otherwise.
    pub(crate) const PLANNED: Self = Self {
        is_planned: true,
        rewrites: false,
        kernels: None,
        loops: false,
        int8_io: false,
        is_code: false,
        is_pushed: false,
        is_slid: false,
    };

    /// All ways, from the one that asks least of the application to the one that asks most. What is changed more than in
    /// its order and plan is rewritten as well, if `rewrites` says so.
    pub fn all(rewrites: bool) -> Vec<Self> {
        let as_it_came = Self::default();
        let rewritten = Self { rewrites, ..Self::PLANNED };
        let looped = Self { loops: true, ..rewritten };
        let int8_io = Self { int8_io: true, ..rewritten };
        let code = Self { is_code: true, ..rewritten };
        let with_kernels = |way: Self| KERNELS.map(|kernels| Self { kernels: Some(kernels), ..way });
        let mut all = vec![as_it_came, Self::PLANNED, rewritten];
        all.dedup();
        all.extend(with_kernels(rewritten));
        all.push(looped);
        all.extend(with_kernels(looped));
        all.push(int8_io);
        all.push(Self { loops: true, ..int8_io });
        all.extend(with_kernels(Self { loops: true, ..int8_io }));
        let slid = Self { is_slid: true, ..rewritten };
        all.push(slid);
        all.extend(with_kernels(slid));
        all.extend([code, Self { loops: true, ..code }]);
        all.extend([Self { int8_io: true, ..code }, Self { int8_io: true, loops: true, ..code }]);
        // With loops in what is behind the stream: they are only there where they help.
        let pushed = Self { is_pushed: true, loops: true, ..code };
        let slid = Self { is_slid: true, ..pushed };
        all.extend([pushed, Self { int8_io: true, ..pushed }, slid, Self { int8_io: true, ..slid }]);
        all
    }

    /// The changes that it makes.
    pub fn changes(self) -> Vec<Change> {
        let all = [
            (self.is_planned, Change::Plan),
            (self.rewrites, Change::Rewrites),
            (self.kernels.is_some(), Change::Kernels),
            (self.loops, Change::Loops),
            (self.int8_io, Change::Int8Io),
            (self.is_code, Change::Code),
            (self.is_pushed || self.is_slid, Change::Stream),
        ];
        all.into_iter().filter(|(is_made, _)| *is_made).map(|(_, change)| change).collect()
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_planned {
            return f.pad("as it came");
        }
        let mut parts = Vec::new();
        if self.is_code {
            parts.push("C code".to_owned());
        }
        if self.is_slid {
            parts.push("windows slid".to_owned());
        } else if self.is_pushed {
            parts.push("rows pushed".to_owned());
        }
        if self.int8_io {
            parts.push("int8 io".to_owned());
        }
        if self.loops {
            parts.push("loops".to_owned());
        }
        parts.extend(self.kernels.map(|kernels| format!("{kernels} kernels")));
        if parts.is_empty() {
            parts.push(if self.rewrites { "order, plan, rewrites" } else { "order and plan" }.to_owned());
        }
        f.pad(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_is_there_twice_and_all_have_names_of_their_own() {
        let all = Way::all(true);
        assert_eq!(all.len(), Way::all(false).len() + 1, "order and plan alone are one way");
        for (at, way) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert!(way != other && way.to_string() != other.to_string(), "{way}");
            }
        }
    }

    #[test]
    fn a_change_is_allowed_with_what_it_is_made_of() {
        use Change::{Code, Loops, Plan, Rewrites, Stream};
        assert_eq!(Change::allowed(&[Stream], &[]), [Plan, Rewrites, Code, Stream]);
        assert_eq!(Change::allowed(&[Plan], &[]), [Plan]);
        assert_eq!(Change::allowed(&[Loops], &[Rewrites]), [Plan, Loops]);
        assert_eq!(Change::allowed(&[], &[]).len(), Change::all().count());
    }

    #[test]
    fn what_asks_more_comes_later() {
        let all = Way::all(true);
        let position = |way: &Way| all.iter().position(|other| other == way).unwrap_or(usize::MAX);
        for way in &all {
            let others = [
                Way { loops: false, ..*way },
                Way { int8_io: false, ..*way },
                Way { kernels: None, ..*way },
                Way { is_code: false, ..*way },
                Way { is_pushed: false, ..*way },
                Way { is_slid: false, ..*way },
            ];
            for less in others.iter().filter(|less| *less != way && all.contains(less)) {
                assert!(position(less) < position(way), "{less} before {way}");
            }
        }
    }
}
