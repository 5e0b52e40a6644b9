//! UF2: what the boot loader of an RP2040 takes when a file is copied to the drive as which it shows itself.
//!
//! A file is a row of blocks of 512 bytes, each with 256 bytes of flash and where they belong. There are programs that make one from an ELF file; they are for
//! the terminal, and this is shorter than calling one.

use std::collections::BTreeMap;

use object::{
    elf::PT_LOAD,
    read::elf::{ElfFile32, ProgramHeader},
};

use crate::command::{Context, Result};

const PAGE: u32 = 256;
const BLOCK: usize = 512;
const RP2040: u32 = 0xe48b_ff56;
const HAS_FAMILY: u32 = 0x2000;

/// What an ELF file puts into flash, as UF2.
pub(crate) fn from_elf(elf: &[u8]) -> Result<Vec<u8>> {
    let file: ElfFile32 = ElfFile32::parse(elf).context("ELF")?;
    let endian = file.endian();
    let mut pages = BTreeMap::<u32, [u8; PAGE as usize]>::new();
    for header in file.elf_program_headers() {
        if header.p_type(endian) != PT_LOAD {
            continue;
        }
        let bytes = header.data(endian, elf).unwrap_or_default();
        for (address, byte) in (header.p_paddr(endian)..).zip(bytes) {
            let page = pages.entry(address / PAGE * PAGE).or_insert([0; 256]);
            page[(address % PAGE) as usize] = *byte;
        }
    }
    let all = pages.len() as u32;
    let blocks = (0..).zip(&pages);
    Ok(blocks
        .flat_map(|(at, (address, page))| block(at, all, *address, page))
        .collect())
}

fn block(at: u32, all: u32, address: u32, page: &[u8; PAGE as usize]) -> [u8; BLOCK] {
    let head = [
        0x0a32_4655,
        0x9e5d_5157,
        HAS_FAMILY,
        address,
        PAGE,
        at,
        all,
        RP2040,
    ];
    let mut block = [0; BLOCK];
    for (place, word) in block.chunks_exact_mut(4).zip(head) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    block[32..32 + page.len()].copy_from_slice(page);
    block[BLOCK - 4..].copy_from_slice(&0x0ab1_6f30_u32.to_le_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with one segment: two bytes at the end of a page and one in the next.
    fn elf() -> Vec<u8> {
        let half = |n: u16| n.to_le_bytes().to_vec();
        let word = |n: u32| n.to_le_bytes().to_vec();
        let mut elf = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        // An executable for ARM, whose one program header is right behind this.
        elf.extend(
            [
                half(2),
                half(40),
                word(1),
                word(0),
                word(52),
                word(0),
                word(0),
            ]
            .concat(),
        );
        elf.extend([half(52), half(32), half(1), half(40), half(0), half(0)].concat());
        let address = 0x1000_00fe;
        elf.extend([1, 84, 0x2000_0000, address, 3, 8, 7, 4].map(word).concat());
        elf.extend([1, 2, 3]);
        elf
    }

    #[test]
    fn what_is_in_flash_is_in_the_file_page_by_page() {
        let uf2 = from_elf(&elf()).unwrap();
        let word = |at: usize| u32::from_le_bytes(uf2[at..at + 4].try_into().unwrap());
        assert_eq!(uf2.len(), 2 * BLOCK);
        assert_eq!(&uf2[..4], b"UF2\n");
        assert_eq!(
            [12, 16, 20, 24, 28].map(word),
            [0x1000_0000, 256, 0, 2, RP2040]
        );
        assert_eq!(&uf2[32 + 253..32 + 257], [0, 1, 2, 0]);
        assert_eq!((word(BLOCK + 12), uf2[BLOCK + 32]), (0x1000_0100, 3));
        assert_eq!(word(2 * BLOCK - 4), 0x0ab1_6f30);
        assert!(from_elf(b"no ELF").is_err());
    }
}
