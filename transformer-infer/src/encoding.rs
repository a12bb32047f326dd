//! What to do with a file that is not UTF-8.

/// What compressed files and other encodings begin with, and how they become text.
const STARTS: [(&[u8], &str); 6] = [
    (
        &[0xfd, b'7', b'z', b'X', b'Z', 0],
        "it is xz: unpack it first, with `xz -d`",
    ),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "it is zstd: unpack it first, with `zstd -d`",
    ),
    (b"BZh", "it is bzip2: unpack it first, with `bunzip2`"),
    (b"PK\x03\x04", "it is zip: unpack it first, with `unzip`"),
    (
        &[0xff, 0xfe],
        "it is UTF-16: convert it, with `iconv -f UTF-16 -t UTF-8`",
    ),
    (
        &[0xfe, 0xff],
        "it is UTF-16: convert it, with `iconv -f UTF-16 -t UTF-8`",
    ),
];

/// Says how text that begins so, and is not UTF-8, becomes it.
///
/// # Example
///
/// ```
/// use transformer_infer::remedy_for_bytes;
///
/// assert!(remedy_for_bytes(b"BZh91AY&SY").contains("bunzip2"));
/// assert!(remedy_for_bytes(b"Stra\xdfe").contains("LATIN1"));
/// ```
pub fn remedy_for_bytes(start: &[u8]) -> &'static str {
    let known = STARTS.iter().find(|(first, _)| start.starts_with(first));
    known.map_or(
        "convert the file, for example with `iconv -f LATIN1 -t UTF-8` if that is what it is in",
        |(_, remedy)| *remedy,
    )
}
