//! How stored integers stand for real numbers.

use serde_json::{Map, Value, json};

/// An affine quantisation: `real = scale * (stored - zero_point)`, with one pair for the whole tensor or one for each
/// position along an axis.
///
/// Two are equal if their scales are the same bit by bit, so that a comparison notices every change and nothing else.
#[derive(Clone, Debug, Default)]
pub struct Quantization {
    /// One factor, or one for each position along `axis`.
    pub scales: Vec<f32>,
    /// What is stored for 0: as many as there are scales, or one, or none (all are 0).
    pub zero_points: Vec<i64>,
    /// The dimension the lists run along. Means nothing while they have one entry.
    pub axis: u32,
}

impl Quantization {
    /// Does each position along the axis have its own scale?
    pub fn is_per_axis(&self) -> bool {
        self.scales.len() > 1
    }

    /// As the JSON format writes it. JSON has no infinities and no NaN: they are written as text.
    ///
    /// ```
    /// use serenity_ir::Quantization;
    /// let quantization = Quantization { scales: vec![0.1], zero_points: vec![-128], axis: 0 };
    /// assert_eq!(quantization.to_json().to_string(), r#"{"scales":[0.1],"zero_points":[-128],"axis":0}"#);
    /// ```
    pub fn to_json(&self) -> Value {
        let scale = |&scale: &f32| {
            if scale.is_finite() { Value::from(scale) } else { Value::from(scale.to_string()) }
        };
        let mut map = Map::new();
        map.insert("scales".into(), self.scales.iter().map(scale).collect());
        map.insert("zero_points".into(), json!(self.zero_points));
        map.insert("axis".into(), json!(self.axis));
        Value::Object(map)
    }

    /// Reads what [`to_json`](Self::to_json) writes; `zero_points` and `axis` may be left out.
    ///
    /// # Errors
    /// The path below the object, what is expected there, and what was found.
    pub(crate) fn from_json(value: &Value) -> Result<Self, (String, &'static str, Value)> {
        let Some(map) = value.as_object() else {
            return Err((String::new(), "an object", value.clone()));
        };
        let list = |key: &str| match map.get(key) {
            None | Some(Value::Null) => Ok([].as_slice()),
            Some(Value::Array(items)) => Ok(items.as_slice()),
            Some(other) => Err((format!(".{key}"), "an array", other.clone())),
        };
        let mut result = Self::default();
        for (index, item) in list("scales")?.iter().enumerate() {
            let scale = scale(item).ok_or_else(|| (format!(".scales[{index}]"), "a number", item.clone()))?;
            result.scales.push(scale);
        }
        for (index, item) in list("zero_points")?.iter().enumerate() {
            let zero_point = item.as_i64().ok_or_else(|| {
                (format!(".zero_points[{index}]"), "a whole number below 2^63", item.clone())
            })?;
            result.zero_points.push(zero_point);
        }
        if let Some(axis) = map.get("axis").filter(|axis| !axis.is_null()) {
            let number = axis.as_u64().and_then(|axis| u32::try_from(axis).ok());
            result.axis =
                number.ok_or_else(|| (".axis".to_owned(), "a dimension, a whole number", axis.clone()))?;
        }
        Ok(result)
    }
}

/// From the digits themselves: by way of a double it could be rounded twice.
fn scale(value: &Value) -> Option<f32> {
    match value {
        Value::Number(number) => number.to_string().parse().ok(),
        Value::String(text) => text.parse().ok().filter(|scale: &f32| !scale.is_finite()),
        _ => None,
    }
}

impl PartialEq for Quantization {
    fn eq(&self, other: &Self) -> bool {
        let bits = |q: &Self| q.scales.iter().map(|scale| scale.to_bits()).collect::<Vec<_>>();
        bits(self) == bits(other) && self.zero_points == other.zero_points && self.axis == other.axis
    }
}

impl Eq for Quantization {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scale_survives_json() {
        let scales = vec![0.1, 0.003_921_569, f32::MIN_POSITIVE, 1e-45, f32::MAX, -0.0, f32::INFINITY];
        let given = Quantization { scales, zero_points: vec![i64::MIN, -128, i64::MAX], axis: 3 };
        let text = given.to_json().to_string();
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(Quantization::from_json(&read).unwrap(), given, "{text}");
    }

    #[test]
    fn the_same_nan_is_equal_to_itself() {
        let given = Quantization { scales: vec![f32::NAN], ..Quantization::default() };
        assert_eq!(given, given.clone());
        assert_eq!(Quantization::from_json(&given.to_json()).unwrap(), given);
    }
}
