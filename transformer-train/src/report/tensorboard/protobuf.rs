//! The few parts of Protocol Buffers that events need: writing and reading fields of a message.
//!
//! <https://protobuf.dev/programming-guides/encoding/>

/// A message under construction: its fields, in the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Adds a whole number (wire type 0).
    pub(super) fn int(mut self, field: u8, value: u64) -> Self {
        self.push_varint(u64::from(field) << 3);
        self.push_varint(value);
        self
    }

    /// Adds a `double` (wire type 1).
    pub(super) fn double(mut self, field: u8, value: f64) -> Self {
        self.push_varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds a `float` (wire type 5).
    pub(super) fn float(mut self, field: u8, value: f32) -> Self {
        self.push_varint(u64::from(field) << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds bytes or text (wire type 2).
    pub(super) fn bytes(mut self, field: u8, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.push_varint(u64::from(field) << 3 | 2);
        self.push_varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// Adds a message (wire type 2).
    pub(super) fn message(self, field: u8, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// Adds packed `double`s (wire type 2).
    pub(super) fn doubles(self, field: u8, values: impl IntoIterator<Item = f64>) -> Self {
        let packed: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
        self.bytes(field, packed)
    }

    /// Returns the message in its binary form.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn push_varint(&mut self, mut value: u64) {
        while value > 0x7F {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Returns the whole number in a field of a message, or 0, the default, if the field is missing. `None` if the bytes
/// are not a message.
pub(super) fn int_in(mut message: &[u8], field: u64) -> Option<u64> {
    let mut found = 0;
    while !message.is_empty() {
        let key = take_varint(&mut message)?;
        match key & 7 {
            0 => {
                let value = take_varint(&mut message)?;
                if key >> 3 == field {
                    found = value;
                }
            }
            1 => message = message.get(8..)?,
            2 => {
                let len = usize::try_from(take_varint(&mut message)?).ok()?;
                message = message.get(len..)?;
            }
            5 => message = message.get(4..)?,
            _ => return None,
        }
    }
    Some(found)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of Protocol Buffers: field 1 is 150.
    #[test]
    fn numbers_are_written_as_the_documentation_shows() {
        let bytes = Message::default().int(1, 150).into_bytes();
        assert_eq!(bytes, [0x08, 0x96, 0x01]);
    }

    /// The second example of the same page: field 2 is "testing".
    #[test]
    fn text_is_written_as_the_documentation_shows() {
        let bytes = Message::default().bytes(2, "testing").into_bytes();
        assert_eq!(bytes, b"\x12\x07testing");
    }

    #[test]
    fn a_number_is_found_behind_fields_of_every_type() {
        let message = Message::default()
            .double(1, 0.5)
            .float(3, 0.5)
            .bytes(4, "text")
            .int(5, 7)
            .int(2, u64::MAX)
            .into_bytes();
        assert_eq!(int_in(&message, 2), Some(u64::MAX));
        assert_eq!(int_in(&message, 6), Some(0));
    }

    #[test]
    fn what_is_no_message_has_no_number() {
        for bytes in [&b"\x12\x07test"[..], b"\x0f", b"\x08", &[0xFF; 11]] {
            assert_eq!(int_in(bytes, 2), None, "{bytes:?}");
        }
    }
}
