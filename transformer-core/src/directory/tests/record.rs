//! The reading of a record: each tensor by itself, and lies in its metadata.

use std::path::Path;
use std::{fs, io};

use burn::tensor::{DType, TensorData, f16};
use tempfile::tempdir;

use super::super::{DirectoryError, FileEntry, stored_weights};

#[test]
fn each_tensor_of_a_record_has_memory_of_its_own() -> io::Result<()> {
    let floats: Vec<f32> = (0..300_000).map(|it| it as f32).collect();
    let halves: Vec<f16> = (0..100_000).map(|it| f16::from_f32(it as f32)).collect();
    let integers: Vec<i8> = (0..1_000_000).map(|it| (it % 251) as u8 as i8).collect();
    let tensors = [
        ("floats", TensorData::new(floats, [300, 1000]), Some(7)),
        ("empty", TensorData::new(Vec::<f32>::new(), [0, 3]), None),
        ("integers", TensorData::new(integers, [1_000_000]), Some(8)),
        ("halves", TensorData::new(halves, [100_000]), Some(9)),
    ];
    let tensors = tensors.map(|(name, values, id)| (name.to_owned(), values, id));
    let bytes = stored_weights::pack(tensors.to_vec()).expect("they are valid");
    let directory = tempdir()?;
    let entry = FileEntry::new("weights", &bytes);
    let read = |content: &[u8]| {
        fs::write(directory.path().join("weights"), content)?;
        Ok::<_, io::Error>(entry.read_record(&directory.path().into()))
    };
    let mut found = read(&bytes)?
        .expect("it was just written")
        .expect("it is a record");
    let reader = burn_pack::Reader::from_bytes(bytes.clone()).expect("Burn wrote it");
    for tensor in reader.into_tensors().expect("Burn wrote it") {
        let (name, dtype, shape, id, values) = tensor.into_parts().expect("it is in memory");
        let place = found.iter().position(|(found, ..)| *found == name);
        let (_, data, found_id) = found.swap_remove(place.expect("it was found"));
        assert_eq!(
            (data.dtype(), &data.shape()[..], found_id),
            (dtype, &shape[..], id)
        );
        assert_eq!(data.as_bytes(), &values[..]);
        let address = data.as_bytes().as_ptr();
        let is_own = match dtype {
            DType::F32 => data
                .try_into_vec::<f32>()
                .is_ok_and(|it| it.as_ptr().cast() == address),
            DType::F16 => data
                .try_into_vec::<f16>()
                .is_ok_and(|it| it.as_ptr().cast() == address),
            _ => data
                .try_into_vec::<i8>()
                .is_ok_and(|it| it.as_ptr().cast() == address),
        };
        assert!(is_own, "{name} was copied");
    }
    assert!(found.is_empty());
    // The header, the metadata, padding, and each megabyte.
    for place in [0, 5, 8, 40, 400]
        .into_iter()
        .chain((1000..bytes.len()).step_by(100_003))
    {
        let mut damaged = bytes.to_vec();
        damaged[place] ^= 1;
        assert!(
            matches!(read(&damaged)?, Err(DirectoryError::Hash { .. })),
            "{place}"
        );
    }
    Ok(())
}

#[test]
fn a_file_that_lies_about_its_tensors_is_no_record() -> io::Result<()> {
    let floats = |value: f32| TensorData::new(vec![value; 256], [256]);
    let tensors = [("first", 1.0), ("second", 2.0)];
    let tensors = tensors.map(|(name, value)| (name.to_owned(), floats(value), Some(7)));
    let bytes = stored_weights::pack(tensors.to_vec()).expect("they are valid");
    let read = |content: Vec<u8>| {
        let entry = FileEntry::new("weights", &content);
        let record = entry.record_from(&content[..], Path::new("weights"));
        let record = record.expect("the hash is right");
        // From memory, the last tensor comes first.
        let taken = stored_weights::take_apart(content.into());
        let taken = taken.map(|tensors| tensors.into_iter().rev().collect());
        assert_eq!(taken.ok(), record.as_ref().ok().cloned());
        record
    };
    assert_eq!(read(bytes.to_vec()).ok(), Some(tensors.to_vec()));
    let with = |old: &[u8], new: &[u8]| {
        let place = bytes.windows(old.len()).position(|it| it == old);
        let mut changed = bytes.to_vec();
        changed[place.expect("it is there")..][..new.len()].copy_from_slice(new);
        changed
    };
    // In CBOR: the end of the first tensor, and where the second begins and ends.
    let bounds = [0x19, 4, 0, 0x19, 8, 0];
    for changed in [
        with(&bounds, &[0x19, 3, 0, 0x19, 7, 0]),  // overlapping
        with(&bounds, &[0x19, 6, 0, 0x19, 10, 0]), // beyond the end
        with(&bounds, &[0x19, 4, 0, 0x19, 8, 4]),  // a value more than the shape has
        with(b"F32", b"F64"),
        with(b"F32", b"I99"),
        with(b"NRUB", b"NRUC"),
        Vec::new(),
        bytes[..5].to_vec(),
        bytes[..40].to_vec(),
        bytes[..bytes.len() - 1].to_vec(),
    ] {
        assert!(read(changed).is_err());
    }
    Ok(())
}
