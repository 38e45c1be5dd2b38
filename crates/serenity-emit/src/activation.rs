//! Where fused activations cut results off.

/// The smallest and the largest stored number of a result of this type, scale and zero point after its activation.
pub(crate) fn bounds(activation: &str, scale: f32, zero: i32, ends: (i32, i32)) -> Option<(i32, i32)> {
    // As the runtime does: in floats, halves away from zero.
    let stored = |real: f32| zero.saturating_add((real / scale).round() as i32);
    let (least, most) = ends;
    Some(match activation {
        "none" => ends,
        "relu" => (least.max(stored(0.0)), most),
        "relu6" => (least.max(stored(0.0)), most.min(stored(6.0))),
        "relu_n1_to_1" => (least.max(stored(-1.0)), most.min(stored(1.0))),
        _ => return None,
    })
}
