//! The frames of an event file: TensorFlow's records, with a CRC-32C of the length and of the data.
//!
//! <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>

use std::io::{self, ErrorKind, Read};

/// Maximum length of a record that is read, in bytes. The largest that this program writes, the histograms of a model,
/// has less than 1 MiB.
const MAX_LEN: u64 = 64 << 20;

/// Castagnoli's polynomial with its bits reversed, as in iSCSI (RFC 3720, section 12.1).
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The remainder of every byte.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let is_odd = remainder & 1 == 1;
            remainder >>= 1;
            if is_odd {
                remainder ^= POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

fn crc32c(data: &[u8]) -> u32 {
    let next = |crc: u32, byte: &u8| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    !data.iter().fold(!0, next)
}

/// Returns the checksum of data in the masked form that the format stores: a CRC of data that contains CRCs would be
/// weak.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// Returns data as a record.
pub(super) fn record(data: &[u8]) -> Vec<u8> {
    let len = (data.len() as u64).to_le_bytes();
    let parts = [
        &len[..],
        &masked_crc(&len).to_le_bytes(),
        data,
        &masked_crc(data).to_le_bytes(),
    ];
    parts.concat()
}

/// Reads the data of the next record. `None` at the end, and at a truncated or damaged record, because nothing after it
/// can be read.
pub(super) fn read_record(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let (Some(len), Some(crc_of_len)) = (read_array::<8>(reader)?, read_array::<4>(reader)?) else {
        return Ok(None);
    };
    let n_bytes = u64::from_le_bytes(len);
    if masked_crc(&len).to_le_bytes() != crc_of_len || n_bytes > MAX_LEN {
        return Ok(None);
    }
    let mut data = Vec::new();
    reader.take(n_bytes).read_to_end(&mut data)?;
    let crc = read_array::<4>(reader)?;
    let is_intact = crc == Some(masked_crc(&data).to_le_bytes());
    Ok(is_intact.then_some(data))
}

/// Reads exactly `N` bytes; `None` if there are fewer.
fn read_array<const N: usize>(reader: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match reader.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 3720, section B.4.
    #[test]
    fn checksums_are_those_of_the_standard() {
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(&ascending), 0x46DD_794E);
    }

    #[test]
    fn records_are_read_back_in_order() -> io::Result<()> {
        let file = [record(b"one"), record(b""), record(b"three")].concat();
        let mut reader = file.as_slice();
        assert_eq!(read_record(&mut reader)?.as_deref(), Some(&b"one"[..]));
        assert_eq!(read_record(&mut reader)?.as_deref(), Some(&b""[..]));
        assert_eq!(read_record(&mut reader)?.as_deref(), Some(&b"three"[..]));
        assert_eq!(read_record(&mut reader)?, None);
        Ok(())
    }

    #[test]
    fn a_record_with_a_changed_byte_is_not_read() -> io::Result<()> {
        let intact = record(b"data");
        for index in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[index] ^= 0x20;
            assert_eq!(read_record(&mut damaged.as_slice())?, None, "byte {index}");
        }
        Ok(())
    }
}
