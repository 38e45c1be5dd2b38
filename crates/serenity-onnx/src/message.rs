//! Protocol buffers, written.

/// The content of a message, record after record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A whole number; negative ones take ten bytes, as the format has it.
    pub(crate) fn int(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    /// Text, bytes, or a message in a message.
    pub(crate) fn bytes(mut self, field: u64, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        self.varint(field << 3 | 2);
        self.varint(content.len() as u64);
        self.0.extend_from_slice(content);
        self
    }

    /// A 32-bit float.
    pub(crate) fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn message(self, field: u64, content: &Self) -> Self {
        self.bytes(field, &content.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn records_are_as_the_format_has_them() {
        let inner = Message::new().int(1, 150);
        assert_eq!(Message::new().message(3, &inner).into_bytes(), [0x1a, 3, 0x08, 0x96, 0x01]);
        assert_eq!(Message::new().float(2, 1.0).into_bytes(), [0x15, 0, 0, 0x80, 0x3f]);
        assert_eq!(Message::new().int(2, -1).into_bytes().len(), 11);
    }
}
