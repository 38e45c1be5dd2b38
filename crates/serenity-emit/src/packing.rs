//! Weights as the packed kernels read them.

/// How many output channels share a block, for the channels from one on: eight, or two at the end.
pub(crate) fn block(left: usize) -> usize {
    if left >= 8 { 8 } else { 2 }
}

/// Two channels of a block of inputs at once: for each, the halfword 256 b + a of the weights of two channels. `None`
/// if some pair does not fit 16 bits.
fn word(a: [i8; 2], b: [i8; 2]) -> Option<u32> {
    let half = |k: usize| i16::try_from(256 * i32::from(b[k]) + i32::from(a[k])).ok();
    Some(u32::from(half(0)?.cast_unsigned()) | u32::from(half(1)?.cast_unsigned()) << 16)
}

/// The weights of channels that see all inputs, block by block, the inputs of each in fours. Runs of `run` weights are
/// filled up with zeros to a multiple of four, as is an odd last channel.
pub(crate) fn channels(weights: &[i8], channels: usize, run: usize) -> Option<Vec<u32>> {
    let filter = weights.len() / channels;
    let at = |channel: usize, place: usize, input: usize| {
        let is_there = channel < channels && input < run;
        if is_there { weights[channel * filter + place * run + input] } else { 0 }
    };
    let mut words = Vec::with_capacity(weights.len() / 2);
    let mut first = 0;
    while first < channels {
        let together = block(channels - first);
        for place in 0..filter / run {
            for input in (0..run).step_by(4) {
                for odd in [input, input + 1] {
                    for a in (first..first + together).step_by(2) {
                        let two = |channel| [at(channel, place, odd), at(channel, place, odd + 2)];
                        words.push(word(two(a), two(a + 1))?);
                    }
                }
            }
        }
        first += together;
    }
    Some(words)
}

/// The weights of a depthwise convolution: for each four channels, those of all taps, filled up with zeros to whole threes.
pub(crate) fn depthwise(weights: &[i8], channels: usize) -> Vec<u32> {
    let taps = weights.len() / channels;
    let at = |tap: usize, channel: usize| {
        let is_there = tap < taps && channel < channels;
        if is_there { weights[tap * channels + channel].cast_unsigned() } else { 0 }
    };
    let fours = (0..channels).step_by(4);
    let all = fours.flat_map(|first| (0..taps.next_multiple_of(3)).map(move |tap| (first, tap)));
    all.map(|(first, tap)| u32::from_le_bytes([0, 1, 2, 3].map(|k| at(tap, first + k)))).collect()
}
