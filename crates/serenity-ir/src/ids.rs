//! Index newtypes, so that an op is never mistaken for a tensor.

/// Defines a `u32` index newtype with the few conversions every arena needs.
macro_rules! define_index {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the element at `index` of its arena.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits; [`GraphBuilder::build`](crate::GraphBuilder::build) refuses such graphs.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an arena holds at most 2^32 elements"))
            }

            /// The position in the arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

define_index!(
    /// An operator: its position in the file's order.
    OpId,
    "op"
);
define_index!(
    /// A tensor: its position in the graph's tensor list.
    TensorId,
    "t"
);
define_index!(
    /// A buffer of a [`Lifetimes`](crate::Lifetimes): memory that one or more tensors share.
    BufferId,
    "b"
);
