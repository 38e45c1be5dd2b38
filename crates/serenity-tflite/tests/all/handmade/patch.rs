//! Finding and changing single words of a file.

pub(crate) fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

pub(crate) fn target(bytes: &[u8], at: usize) -> usize {
    at + word(bytes, at)
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Where a field of a table lies.
pub(crate) fn field(bytes: &[u8], table: usize, slot: usize) -> usize {
    let back = i32::from_le_bytes(bytes[table..table + 4].try_into().unwrap());
    let vtable = (table as i64 - i64::from(back)) as usize;
    let entry = vtable + 4 + 2 * slot;
    table + u16::from_le_bytes([bytes[entry], bytes[entry + 1]]) as usize
}
