//! What kernels need, op by op, for the tests of this folder. Ops are written as [`sketch`] reads them.

use crate::{Kernels, LitertKernels, LitertPlace, scratch};
use serenity_ir::{OpId, sketch};

/// Each op asks these kernels for just this scratch.
pub(crate) fn assert_scratch(kernels: Kernels, rows: &[(&str, &[u64])]) {
    for (op, expected) in rows {
        assert_eq!(scratch(&sketch(op), OpId(0), kernels), *expected, "{op}");
    }
}

/// Each op has just this in LiteRT's arenas besides its tensors.
pub(crate) fn assert_temporaries(rows: &[(&str, &[u64])]) {
    for (op, expected) in rows {
        let kernels = LitertKernels::of(&sketch(op));
        let in_arena = kernels.temporaries(OpId(0)).iter().filter(|t| t.place == LitertPlace::Arena);
        let bytes: Vec<u64> = in_arena.map(|temporary| temporary.bytes).collect();
        assert_eq!(bytes, *expected, "{op}");
    }
}
