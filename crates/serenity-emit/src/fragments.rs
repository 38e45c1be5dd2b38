//! The kernels as pieces of C, and which need which. A piece is a file of `c/`: what other files must see, a line of
//! dashes, and the rest.

use std::collections::BTreeSet;

macro_rules! fragments {
    ($($name:ident: $file:literal needs [$($needs:ident),*];)*) => {
        /// A piece of C, in the order in which they are written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Fragment { $($name),* }

        impl Fragment {
            fn text(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("c/", $file))),* }
            }

            fn needs(self) -> &'static [Self] {
                match self { $(Self::$name => &[$(Self::$needs),*]),* }
            }
        }
    };
}

fragments! {
    Clamped: "clamped.c" needs [];
    Arithmetic: "arithmetic.c" needs [Clamped];
    LoadF32: "load_f32.c" needs [];
    Wide: "wide.c" needs [LoadF32];
    LoadS16: "load_s16.c" needs [];
    StoreS16: "store_s16.c" needs [];
    LoadU32: "load_u32.c" needs [];
    StoreU32: "store_u32.c" needs [];
    LoadU64: "load_u64.c" needs [];
    StoreU64: "store_u64.c" needs [];
    Bits: "bits.c" needs [];
    Dsp: "dsp.c" needs [];
    Vectors: "vectors.c" needs [];
    Span: "span.c" needs [];
    Pairs: "pairs.c" needs [];
    ConvVectorsS8: "conv_vectors_s8.c" needs [Span, Vectors];
    ConvS8: "conv_s8.c" needs [Arithmetic, Dsp, Span];
    ConvBackwardS8: "conv_backward_s8.c" needs [ConvS8];
    DepthwiseVectorsS8: "depthwise_vectors_s8.c" needs [Span, Vectors];
    DepthwiseS8: "depthwise_s8.c" needs [Arithmetic, Dsp, Span];
    DepthwiseBackwardS8: "depthwise_backward_s8.c" needs [DepthwiseS8];
    GroupedS8: "grouped_s8.c" needs [Arithmetic, Span];
    EightsRoundedTwice: "eights_rounded_twice.c" needs [];
    TwosRoundedTwice: "twos_rounded_twice.c" needs [];
    PairsRoundedTwice: "pairs_rounded_twice.c" needs [];
    DepthwiseRoundedTwice: "depthwise_rounded_twice.c" needs [];
    PackedS8: "packed_s8.c" needs [Clamped];
    PackedChannelsS8: "packed_channels_s8.c" needs [PackedS8];
    PackedPlace: "packed_place.c" needs [PackedS8];
    PackedTaps: "packed_taps.c" needs [PackedS8];
    PackedPointwiseS8: "packed_pointwise_s8.c" needs [PackedChannelsS8];
    PackedWindowsS8: "packed_windows_s8.c" needs [PackedChannelsS8, PackedPlace, PackedTaps];
    PackedTwoS8: "packed_two_s8.c" needs [LoadS16, StoreS16, PackedChannelsS8];
    PackedTwoPointwiseS8: "packed_two_pointwise_s8.c" needs [PackedTwoS8];
    PackedTwoWindowsS8: "packed_two_windows_s8.c" needs [PackedTwoS8, PackedWindowsS8];
    PackedPatchesS8: "packed_patches_s8.c" needs [PackedChannelsS8, PackedPlace];
    PackedDepthwiseS8: "packed_depthwise_s8.c" needs [PackedPlace, PackedTaps];
    AffineS8: "affine_s8.c" needs [Clamped, Dsp];
    Reach: "reach.c" needs [Span];
    TransposedS8: "transposed_s8.c" needs [ConvS8, Reach];
    Matrices: "matrices.c" needs [];
    MatricesS8: "matrices_s8.c" needs [Arithmetic, Matrices];
    ResizeS8: "resize_s8.c" needs [];
    ResizeF32: "resize_f32.c" needs [Wide];
    PoolS8: "pool_s8.c" needs [Clamped, Span];
    AddS8: "add_s8.c" needs [Arithmetic, Pairs];
    MulS8: "mul_s8.c" needs [Arithmetic, Pairs];
    SquaredDifferenceS8: "squared_difference_s8.c" needs [Arithmetic, Pairs];
    ExtremeS8: "extreme_s8.c" needs [Pairs];
    RescaleS8: "rescale_s8.c" needs [Arithmetic];
    RescaleS16: "rescale_s16.c" needs [Arithmetic, LoadS16];
    Table8: "table_8.c" needs [];
    QuantizeS8: "quantize_s8.c" needs [Clamped, Wide];
    SoftmaxS8: "softmax_s8.c" needs [Clamped];
    MeanS8: "mean_s8.c" needs [Arithmetic];
    ReduceS8: "reduce_s8.c" needs [];
    PlaceS8: "place_s8.c" needs [StoreU32];
    SvdfS8: "svdf_s8.c" needs [Arithmetic, LoadS16, StoreS16];
    LstmS8: "lstm_s8.c" needs [Arithmetic, LoadS16, StoreS16];
    PairsS32: "pairs_s32.c" needs [Pairs, LoadU32, StoreU32];
    Cast: "cast.c" needs [LoadS16, StoreS16, LoadU32, StoreU32];
    CastF32: "cast_f32.c" needs [LoadS16, StoreS16, LoadU32, StoreU32, Wide];
    WindowS16: "window_s16.c" needs [Clamped, LoadS16, StoreS16];
    AutoScaleS16: "auto_scale_s16.c" needs [Bits, LoadS16, StoreS16, StoreU32];
    RfftS16: "rfft_s16.c" needs [LoadS16, StoreS16];
    EnergyS16: "energy_s16.c" needs [LoadS16, StoreU32];
    FilterBank: "filter_bank.c" needs [LoadU32, StoreU64];
    SquareRoot: "square_root.c" needs [LoadU32, LoadU64, StoreU32];
    Spectral: "spectral.c" needs [LoadU32, StoreU32];
    Pcan: "pcan.c" needs [Bits, LoadU32, StoreU32];
    LogU32: "log_u32.c" needs [Bits, LoadU32, StoreS16];
    WindowF32: "window_f32.c" needs [Span, Wide];
    TransposedF32: "transposed_f32.c" needs [Reach, WindowF32];
    MatricesF32: "matrices_f32.c" needs [Matrices, Wide];
    PairsF32: "pairs_f32.c" needs [Pairs, Wide];
    EachF32: "each_f32.c" needs [Wide];
    PlaceF32: "place_f32.c" needs [StoreU32, Wide];
    LstmF32: "lstm_f32.c" needs [Wide];
    SoftmaxF32: "softmax_f32.c" needs [Wide];
    ReduceF32: "reduce_f32.c" needs [Wide];
    Gather: "gather.c" needs [];
    Take: "take.c" needs [Clamped, LoadU32];
    Compare: "compare.c" needs [LoadF32, LoadU32, Pairs];
    Choose: "choose.c" needs [];
    Space: "space.c" needs [];
    ConvRowsS8: "conv_rows_s8.c" needs [ConvS8];
    DepthwiseRowsS8: "depthwise_rows_s8.c" needs [DepthwiseS8];
    PackedRowTaps: "packed_row_taps.c" needs [PackedS8];
    PackedWindowsRowsS8: "packed_windows_rows_s8.c" needs [PackedWindowsS8, PackedRowTaps];
    PackedPatchesRowsS8: "packed_patches_rows_s8.c" needs [PackedPatchesS8];
    PackedDepthwiseRowsS8: "packed_depthwise_rows_s8.c" needs [PackedDepthwiseS8, PackedRowTaps];
    PoolRowsS8: "pool_rows_s8.c" needs [PoolS8];
    WindowRowsF32: "window_rows_f32.c" needs [WindowF32];
    SumsS8: "sums_s8.c" needs [Arithmetic];
    SumsF32: "sums_f32.c" needs [Wide];
    Copy: "copy.c" needs [];
    Pad: "pad.c" needs [];
    Concat: "concat.c" needs [];
}

/// What divides a piece.
const LINE: &str = "/* -- */\n";

impl Fragment {
    /// The piece that computes one row of the same from rows that lie apart.
    pub(crate) fn over_rows(self) -> Option<Self> {
        Some(match self {
            Self::ConvS8 => Self::ConvRowsS8,
            Self::DepthwiseS8 => Self::DepthwiseRowsS8,
            Self::PackedWindowsS8 => Self::PackedWindowsRowsS8,
            Self::PackedPatchesS8 => Self::PackedPatchesRowsS8,
            Self::PackedDepthwiseS8 => Self::PackedDepthwiseRowsS8,
            Self::PoolS8 => Self::PoolRowsS8,
            Self::WindowF32 => Self::WindowRowsF32,
            _ => return None,
        })
    }

    /// What other files must see; empty if all is private.
    pub(crate) fn public(self) -> &'static str {
        self.text().split_once(LINE).map_or("", |(public, _)| public)
    }

    /// What they must not.
    pub(crate) fn private(self) -> &'static str {
        self.text().split_once(LINE).map_or(self.text(), |(_, private)| private)
    }
}

/// These, and all that they need.
pub(crate) fn with_needs(wanted: &BTreeSet<Fragment>) -> BTreeSet<Fragment> {
    let mut all = BTreeSet::new();
    let mut open: Vec<Fragment> = wanted.iter().copied().collect();
    while let Some(one) = open.pop() {
        if all.insert(one) {
            open.extend(one.needs());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_come_first() {
        for one in with_needs(&BTreeSet::from([Fragment::ConvS8, Fragment::AddS8, Fragment::QuantizeS8])) {
            assert!(one.needs().iter().all(|need| *need < one), "{one:?}");
        }
    }
}
