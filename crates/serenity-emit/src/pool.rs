//! Constants of the code: equal ones are written once.

use crate::names::identifier;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Aligns a constant as words are. [`WORDS`] says how.
const IN_WORDS: &str = "IN_WORDS ";
/// What stands before constants.
pub(crate) const WORDS: &str =
    "#ifdef __cplusplus\n#define IN_WORDS alignas(4)\n#else\n#define IN_WORDS _Alignas(4)\n#endif\n\n";

/// The type of a constant's elements in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ctype {
    I8,
    U8,
    I16,
    U16,
    I32,
    F32,
}

impl Ctype {
    fn name(self) -> &'static str {
        match self {
            Self::I8 => "int8_t",
            Self::U8 => "uint8_t",
            Self::I16 => "int16_t",
            Self::U16 => "uint16_t",
            Self::I32 => "int32_t",
            Self::F32 => "float",
        }
    }

    fn item(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::F32 => 4,
        }
    }
}

/// All constants, each with its name.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    names: BTreeMap<(&'static str, Ctype, Vec<u8>), String>,
    pub(crate) text: String,
    bytes: u64,
    /// By zero point: how many are needed at most.
    zeros: BTreeMap<i32, usize>,
}

impl Pool {
    /// The name of a constant with these elements, packed as the file has them: little-endian.
    pub(crate) fn named(&mut self, ctype: Ctype, bytes: &[u8], wish: &str, why: &str) -> String {
        self.placed("", ctype, bytes, wish, why)
    }

    fn placed(&mut self, how: &'static str, ctype: Ctype, bytes: &[u8], wish: &str, why: &str) -> String {
        if let Some(name) = self.names.get(&(how, ctype, bytes.to_vec())) {
            return name.clone();
        }
        let name = format!("c{}_{}", self.names.len(), identifier(wish));
        self.names.insert((how, ctype, bytes.to_vec()), name.clone());
        self.bytes += bytes.len() as u64;
        let count = bytes.len() / ctype.item();
        let _ = writeln!(
            self.text,
            "/* {why} */\n{how}static const {} {name}[{}] = {{",
            ctype.name(),
            count.max(1)
        );
        write_elements(&mut self.text, ctype, bytes);
        self.text.push_str("};\n\n");
        name
    }

    pub(crate) fn i8s(&mut self, values: &[i8], wish: &str, why: &str) -> String {
        let bytes: Vec<u8> = values.iter().map(|value| value.cast_unsigned()).collect();
        self.named(Ctype::I8, &bytes, wish, why)
    }

    /// The name of a constant that is read in words as well.
    pub(crate) fn words(&mut self, ctype: Ctype, values: &[u32], wish: &str, why: &str) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.placed(IN_WORDS, ctype, &bytes, wish, why)
    }

    /// The name of a constant of so many zero points, of which all layers share the longest.
    pub(crate) fn zeros(&mut self, zero: i32, count: usize) -> String {
        let longest = self.zeros.entry(zero).or_default();
        *longest = count.max(*longest);
        format!("zeros_{}", zero as u8)
    }

    /// The constants that layers share.
    pub(crate) fn zeros_text(&self) -> String {
        let mut text = String::new();
        for (zero, &count) in &self.zeros {
            let name = format!("zeros_{}", *zero as u8);
            let _ = writeln!(
                text,
                "/* zero points in place of pixels outside */\nstatic const int8_t {name}[{count}] = {{"
            );
            write_elements(&mut text, Ctype::I8, &vec![*zero as u8; count]);
            text.push_str("};\n\n");
        }
        text
    }

    /// Bytes of all constants.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.zeros.values().sum::<usize>() as u64
    }

    pub(crate) fn i32s(&mut self, values: &[i32], wish: &str, why: &str) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.named(Ctype::I32, &bytes, wish, why)
    }
}

fn write_elements(text: &mut String, ctype: Ctype, bytes: &[u8]) {
    let mut column = 0;
    for element in bytes.chunks_exact(ctype.item()) {
        let start = text.len();
        match (ctype, element) {
            (Ctype::I8, &[byte]) => number(text, byte.cast_signed().into()),
            (Ctype::U8, &[byte]) => number(text, byte.into()),
            (Ctype::I16, &[a, b]) => number(text, i16::from_le_bytes([a, b]).into()),
            (Ctype::U16, &[a, b]) => number(text, u16::from_le_bytes([a, b]).into()),
            (Ctype::I32, &[a, b, c, d]) => number(text, i32::from_le_bytes([a, b, c, d])),
            (Ctype::F32, &[a, b, c, d]) => text.push_str(&float(f32::from_le_bytes([a, b, c, d]))),
            _ => {}
        }
        text.push(',');
        column += text.len() - start;
        if column > 140 {
            text.push('\n');
            column = 0;
        }
    }
    if bytes.is_empty() {
        text.push('0');
    }
    text.push('\n');
}

fn number(text: &mut String, value: i32) {
    // There is no such literal: the minus is an operator.
    let _ = if value == i32::MIN { write!(text, "INT32_MIN") } else { write!(text, "{value}") };
}

/// A float as C reads it back, bit for bit (but for the payload of a NaN).
pub(crate) fn float(value: f32) -> String {
    if value.is_nan() {
        return "NAN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INFINITY" } else { "-INFINITY" }.to_owned();
    }
    // The shortest decimal that is this float and no other.
    format!("{value:e}f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_constants_are_written_once() {
        let mut pool = Pool::default();
        let one = pool.i8s(&[1, -128], "w", "a");
        assert_eq!(pool.i8s(&[1, -128], "v", "b"), one);
        assert_ne!(pool.i32s(&[i32::MIN], "v", "b"), one);
        assert_eq!(pool.bytes, 6);
        assert!(pool.text.contains("1,-128,") && pool.text.contains("INT32_MIN,"));
        assert_eq!([float(0.1), float(-3e30), float(1.0)], ["1e-1f", "-3e30f", "1e0f"]);
    }
}
