//! Intel's tile registers (AMX), for sums of products of 8-bit integers and of bfloat16.
//!
//! A tile has 16 rows of 64 bytes. The compiler has no stable names for its instructions, so they are assembly. Four
//! instructions matter: `tileloadd` reads rows at equal distances, `tdpbssd` adds to 16 × 16 sums the products of 16
//! rows of 64 integers and 64 rows of 16 integers, `tdpbf16ps` adds to as many `f32` sums those of 16 rows of 32 and
//! 32 rows of 16 bfloat16, and `tilestored` writes rows.

#![expect(
    unsafe_code,
    reason = "AMX has no stable intrinsics, and Linux lends it on request only"
)]

mod rounding;

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::LazyLock;

thread_local! {
    static IS_USED: Cell<bool> = const { Cell::new(false) };
}

pub(crate) use rounding::{round_columns, round_rows, transposed};

use super::tile::{DEPTH, Line, SIDE, Sums, Tile};

/// The operand of `ldtilecfg`.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// Returns whether this processor has AMX for integers, and Linux lets this process use it.
pub(crate) fn available() -> bool {
    static AVAILABLE: LazyLock<bool> =
        LazyLock::new(|| processor_has_tiles() && linux_lends_them());
    *AVAILABLE
}

/// Returns whether tiles are [`available`], can be multiplied as bfloat16, and vectors can be rounded to it.
pub(crate) fn has_bf16() -> bool {
    const AMX_BF16: u32 = 1 << 22;
    static HAS_BF16: LazyLock<bool> = LazyLock::new(|| {
        let has_tiles = available() && __cpuid_count(7, 0).edx & AMX_BF16 != 0;
        has_tiles && is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512bw")
    });
    *HAS_BF16
}

fn processor_has_tiles() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;
    const TILE_STATE: u32 = 1 << 17 | 1 << 18;

    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    if __cpuid_count(7, 0).edx & (AMX_TILE | AMX_INT8) != AMX_TILE | AMX_INT8 {
        return false;
    }
    let saved: u32;
    // SAFETY: the processor has `xgetbv`, since the operating system uses XSAVE; register 0 always exists.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") saved, out("edx") _, options(nomem, nostack));
    }
    saved & TILE_STATE == TILE_STATE
}

/// Asks Linux to save the state of tiles, which it does only for processes that ask.
fn linux_lends_them() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;

    // SAFETY: this request takes no pointers, and changes only the state that Linux saves.
    let status = unsafe {
        libc::syscall(
            libc::SYS_arch_prctl,
            ARCH_REQ_XCOMP_PERM,
            XFEATURE_XTILEDATA,
        )
    };
    status == 0
}

/// Writes the sums of two tiles of rows with two of columns, by the instruction with this name; the arguments are those
/// of [`Tiles::square`]. The caller checks that the processor has this instruction.
macro_rules! write_square {
    ($product:literal, $tiles:ident, $rows:ident, $stride:ident, $columns:ident, $sums:ident) => {{
        let depth = $columns[0].len();
        assert_eq!($columns[1].len(), depth, "columns have equally many tiles");
        assert!(
            $tiles.height == SIDE && 0 < depth && depth <= $stride && $rows.len() >= 2 * SIDE * $stride,
            "two whole tiles of rows"
        );
        // SAFETY: `$tiles` proves that tiles are available and configured in this thread, and the caller has checked
        // the instruction. There are `2 * SIDE * $stride` lines of rows; every step reads one in each row, and there
        // are at most `$stride` steps. Every step reads a tile of each column. The sums have 32 rows of 128 bytes.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "tileloadd tmm6, [{b0} + {line}]",
                "tileloadd tmm4, [{a0} + {stride}]",
                concat!($product, " tmm0, tmm4, tmm6"),
                "tileloadd tmm7, [{b1} + {line}]",
                concat!($product, " tmm1, tmm4, tmm7"),
                "tileloadd tmm5, [{a1} + {stride}]",
                concat!($product, " tmm2, tmm5, tmm6"),
                concat!($product, " tmm3, tmm5, tmm7"),
                "add {a0}, 64",
                "add {a1}, 64",
                "add {b0}, 1024",
                "add {b1}, 1024",
                "dec {depth}",
                "jnz 2b",
                "tilestored [{sums} + {width}], tmm0",
                "tilestored [{sums} + {width} + 64], tmm1",
                "tilestored [{sums} + {width} + 2048], tmm2",
                "tilestored [{sums} + {width} + 2112], tmm3",
                a0 = inout(reg) $rows.as_ptr() => _,
                a1 = inout(reg) $rows[SIDE * $stride..].as_ptr() => _,
                b0 = inout(reg) $columns[0].as_ptr() => _,
                b1 = inout(reg) $columns[1].as_ptr() => _,
                depth = inout(reg) depth => _,
                stride = in(reg) $stride * size_of::<Line>(),
                line = in(reg) size_of::<Line>(),
                sums = in(reg) &raw mut *$sums,
                width = in(reg) 2 * SIDE * size_of::<i32>(),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }};
}

/// The tile registers of this thread, while they are configured.
///
/// Registers 0 to 3 have sums, 4 and 5 activations, 5 to 7 weights. No function keeps values in them between calls.
pub(crate) struct Tiles {
    height: usize,
    /// Tiles belong to a thread.
    not_send: PhantomData<*const ()>,
}

impl Tiles {
    /// Configures tiles of activations with `height` rows.
    ///
    /// # Panics
    ///
    /// Panics without [`available`], if `height` is 0 or more than [`SIDE`], or while other tiles of this thread exist:
    /// they would lose their configuration.
    pub(crate) fn new(height: usize) -> Self {
        assert!(
            available(),
            "this processor has no tiles, or Linux does not lend them"
        );
        assert!((1..=SIDE).contains(&height), "a tile has 1 to {SIDE} rows");
        let is_used = IS_USED.replace(true);
        assert!(!is_used, "the tiles of this thread are configured already");
        let mut configuration = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        for register in 0..8 {
            configuration.row_bytes[register] = DEPTH as u16;
            configuration.rows[register] = SIDE as u8;
        }
        for register in 0..5 {
            configuration.rows[register] = height as u8;
        }
        // SAFETY: tiles are available, and the configuration is one of palette 1, with tiles of at most 16 rows of 64
        // bytes.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly));
        }
        Self {
            height,
            not_send: PhantomData,
        }
    }

    /// Writes the sums of two tiles of rows, each with [`SIDE`] rows, with two tiles of columns.
    ///
    /// # Shapes
    ///
    /// - `rows`: at least `[2 * SIDE, stride]`
    /// - `columns`: at most `stride` tiles, equally many for both
    /// - `sums`: `[2 * SIDE, 2 * SIDE]`
    ///
    /// # Panics
    ///
    /// Panics if the tiles have fewer rows than [`SIDE`], or a slice is too short.
    #[inline(always)]
    pub(crate) fn square(
        &self,
        rows: &[Line],
        stride: usize,
        columns: [&[Tile]; 2],
        sums: &mut Sums,
    ) {
        write_square!("tdpbssd", self, rows, stride, columns, sums);
    }

    /// Like [`square`](Self::square), for pairs of bfloat16 in place of four integers, and `f32` sums. The processor
    /// takes numbers below 1e-38 for zero.
    ///
    /// # Panics
    ///
    /// Panics without [`has_bf16`], if the tiles have fewer rows than [`SIDE`], or a slice is too short.
    #[inline(always)]
    pub(crate) fn square_bf16(
        &self,
        rows: &[Line],
        stride: usize,
        columns: [&[Tile]; 2],
        sums: &mut Sums,
    ) {
        assert!(has_bf16(), "this processor does not multiply bfloat16");
        write_square!("tdpbf16ps", self, rows, stride, columns, sums);
    }

    /// Writes the sums of one tile of rows with four tiles of columns.
    ///
    /// # Shapes
    ///
    /// - `rows`: at least `[height, stride]`
    /// - `columns`: at most `stride` tiles, equally many for all
    /// - `sums`: `[height, 4 * SIDE]`
    ///
    /// # Panics
    ///
    /// Panics if a slice is too short.
    #[inline(always)]
    pub(crate) fn wide(
        &self,
        rows: &[Line],
        stride: usize,
        columns: [&[Tile]; 4],
        sums: &mut Sums,
    ) {
        let depth = columns[0].len();
        assert!(
            columns.iter().all(|it| it.len() == depth),
            "columns have equally many tiles"
        );
        assert!(
            0 < depth && depth <= stride && rows.len() >= self.height * stride,
            "a whole tile of rows"
        );
        // SAFETY: as in `square`; a tile of rows and of sums has `height` rows, at most 16, and the
        // sums have 16 rows of 256 bytes.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "tileloadd tmm4, [{a} + {stride}]",
                "tileloadd tmm5, [{b0} + {line}]",
                "tdpbssd tmm0, tmm4, tmm5",
                "tileloadd tmm6, [{b1} + {line}]",
                "tdpbssd tmm1, tmm4, tmm6",
                "tileloadd tmm7, [{b2} + {line}]",
                "tdpbssd tmm2, tmm4, tmm7",
                "tileloadd tmm5, [{b3} + {line}]",
                "tdpbssd tmm3, tmm4, tmm5",
                "add {a}, 64",
                "add {b0}, 1024",
                "add {b1}, 1024",
                "add {b2}, 1024",
                "add {b3}, 1024",
                "dec {depth}",
                "jnz 2b",
                "tilestored [{sums} + {width}], tmm0",
                "tilestored [{sums} + {width} + 64], tmm1",
                "tilestored [{sums} + {width} + 128], tmm2",
                "tilestored [{sums} + {width} + 192], tmm3",
                a = inout(reg) rows.as_ptr() => _,
                b0 = inout(reg) columns[0].as_ptr() => _,
                b1 = inout(reg) columns[1].as_ptr() => _,
                b2 = inout(reg) columns[2].as_ptr() => _,
                b3 = inout(reg) columns[3].as_ptr() => _,
                depth = inout(reg) depth => _,
                stride = in(reg) stride * size_of::<Line>(),
                line = in(reg) size_of::<Line>(),
                sums = in(reg) &raw mut *sums,
                width = in(reg) 4 * SIDE * size_of::<i32>(),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: tiles are available, and nothing in them is read again.
        unsafe {
            asm!("tilerelease", options(nomem, nostack));
        }
        IS_USED.set(false);
    }
}
