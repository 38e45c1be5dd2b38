//! Matrix products.

use super::Call;
use super::call::one;
use super::elementwise::broadcast_shapes;
use crate::data_type::DataType;
use crate::fact::Fact;

pub(super) fn gemm(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    product_of(call, 1, call.data_type(0))
}

/// The product of the first operand and the one at `right`, either of which may be turned.
pub(super) fn product_of(
    call: &Call<'_, '_>,
    right: usize,
    data_type: Option<DataType>,
) -> Option<Vec<Fact>> {
    let (&[a0, a1], &[b0, b1]) = (call.shape(0)?, call.shape(right)?) else { return None };
    let rows = if call.is_set("transA") { a1 } else { a0 };
    let columns = if call.is_set("transB") { b0 } else { b1 };
    one(data_type, vec![rows, columns])
}

/// As numpy: vectors become matrices for the product, the axes before the last two broadcast.
pub(super) fn matmul(
    call: &Call<'_, '_>,
    left: usize,
    right: usize,
    data_type: Option<DataType>,
) -> Option<Vec<Fact>> {
    one(data_type, product(call.shape(left)?, call.shape(right)?)?)
}

fn product(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let (a_batch, rows) = match a {
        [] => return None,
        [_] => (&[][..], None),
        [batch @ .., rows, _] => (batch, Some(*rows)),
    };
    let (b_batch, columns) = match b {
        [] => return None,
        [_] => (&[][..], None),
        [batch @ .., _, columns] => (batch, Some(*columns)),
    };
    let mut shape = broadcast_shapes(a_batch, b_batch)?;
    shape.extend(rows);
    shape.extend(columns);
    Some(shape)
}

/// A product of matrices of which either may be turned, as ONNX Runtime fuses it: the last two axes change places, or,
/// for all of a batch, the first goes behind the last but one.
pub(super) fn turned_matmul(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let side = |position: usize, turned: &str, batch_turned: &str| {
        let mut shape = call.shape(position)?.to_vec();
        let rank = shape.len();
        if rank >= 2 && call.is_set(batch_turned) {
            shape[..rank - 1].rotate_left(1);
        }
        if rank >= 2 && call.is_set(turned) {
            shape.swap(rank - 2, rank - 1);
        }
        Some(shape)
    };
    let (a, b) = (side(0, "transA", "transBatchA")?, side(1, "transB", "transBatchB")?);
    one(call.data_type(0), product(&a, &b)?)
}

pub(super) fn determinant(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let [batch @ .., _, _] = call.shape(0)? else { return None };
    one(call.data_type(0), batch.to_vec())
}

/// Letters name axes; an ellipsis is left to what the file declares.
pub(super) fn einsum(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let equation: String = call.text_attribute("equation")?.split_whitespace().collect();
    if equation.contains('.') || !equation.is_ascii() {
        return None;
    }
    let (terms, result) = match equation.split_once("->") {
        Some((terms, result)) => (terms, Some(result)),
        None => (equation.as_str(), None),
    };
    let mut sizes: [Option<u64>; 128] = [None; 128];
    let mut uses = [0_u32; 128];
    let mut positions = 0..call.input_count();
    for term in terms.split(',') {
        let shape = call.shape(positions.next()?)?;
        if term.len() != shape.len() {
            return None;
        }
        for (letter, &size) in term.bytes().zip(shape) {
            let known = &mut sizes[usize::from(letter)];
            *known = Some(known.map_or(size, |k| k.max(size)));
            uses[usize::from(letter)] += 1;
        }
    }
    let once = || (0..128_u8).filter(|&letter| uses[usize::from(letter)] == 1).collect();
    let letters: Vec<u8> = result.map_or_else(once, |r| r.bytes().collect());
    let shape: Option<Vec<u64>> = letters.iter().map(|&letter| sizes[usize::from(letter)]).collect();
    one(call.data_type(0), shape?)
}

/// Scaled dot-product attention: the result, the keys and values of all time, and the scores.
pub(super) fn attention(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let heads = |name: &str| u64::try_from(call.int_attribute(name)?).ok().filter(|&heads| heads > 0);
    // Batch, heads, length, size of a head; in three axes the heads lie side by side in the last.
    let split = |position: usize, name: &str| match *call.shape(position)? {
        [batch, heads, length, size] => Some([batch, heads, length, size]),
        [batch, length, width] => Some([batch, heads(name)?, length, width / heads(name)?]),
        _ => None,
    };
    let [batch, query_heads, queries, _] = split(0, "q_num_heads")?;
    let [_, key_heads, new_keys, key_size] = split(1, "kv_num_heads")?;
    let [.., value_size] = split(2, "kv_num_heads")?;
    let past = if call.has_input(4) { *call.shape(4)?.get(2)? } else { 0 };
    let keys = past.checked_add(new_keys)?;
    let result = if call.shape(0)?.len() == 4 {
        vec![batch, query_heads, queries, value_size]
    } else {
        vec![batch, queries, query_heads.checked_mul(value_size)?]
    };
    let fact = |position: usize, shape: Vec<u64>| Fact::of(call.data_type(position), Some(shape));
    Some(vec![
        fact(0, result),
        fact(1, vec![batch, key_heads, keys, key_size]),
        fact(2, vec![batch, key_heads, keys, value_size]),
        fact(0, vec![batch, query_heads, queries, keys]),
    ])
}
