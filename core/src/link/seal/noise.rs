//! The three primitives behind Noise's traits: X25519, ChaCha20-Poly1305 and SHA-256.
//!
//! `noise-protocol` calls them only with lengths that [`super::Handshake`] and [`super::Seal`] have checked. Where its
//! traits leave no other way to say no, the output stays zero and the peer's end refuses it.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use noise_protocol::{Cipher, DH, Hash};
use sha2::Digest;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

use super::TAG_LEN;

/// X25519. A key of zeros stands for one that nobody has drawn, and agrees with nobody.
pub(in crate::link) enum X25519 {}

impl DH for X25519 {
    type Key = [u8; 32];
    type Pubkey = [u8; 32];
    type Output = [u8; 32];

    fn name() -> &'static str {
        "25519"
    }

    /// There is no source of randomness here: every handshake is given its key. One that was not fails.
    fn genkey() -> Self::Key {
        [0; 32]
    }

    fn pubkey(key: &Self::Key) -> Self::Pubkey {
        x25519(*key, X25519_BASEPOINT_BYTES)
    }

    fn dh(key: &Self::Key, public: &Self::Pubkey) -> Result<Self::Output, ()> {
        if *key == [0; 32] {
            return Err(());
        }
        Ok(x25519(*key, *public))
    }
}

/// ChaCha20-Poly1305 with Noise's nonces: four zeros and the count, lowest byte first.
pub(in crate::link) enum ChaChaPoly {}

fn nonce(count: u64) -> Nonce {
    let mut nonce = [0; 12];
    for (byte, from) in nonce.iter_mut().skip(4).zip(count.to_le_bytes()) {
        *byte = from;
    }
    nonce.into()
}

impl Cipher for ChaChaPoly {
    type Key = [u8; 32];

    fn name() -> &'static str {
        "ChaChaPoly"
    }

    fn encrypt(key: &Self::Key, count: u64, ad: &[u8], plaintext: &[u8], out: &mut [u8]) {
        let len = plaintext.len();
        if let Some(front) = out.get_mut(..len) {
            front.copy_from_slice(plaintext);
            Self::encrypt_in_place(key, count, ad, out, len);
        }
    }

    fn encrypt_in_place(
        key: &Self::Key,
        count: u64,
        ad: &[u8],
        in_out: &mut [u8],
        len: usize,
    ) -> usize {
        let Some((text, rest)) = in_out.split_at_mut_checked(len) else {
            return 0;
        };
        let cipher = ChaCha20Poly1305::new(&(*key).into());
        match (
            cipher.encrypt_inout_detached(&nonce(count), ad, text.into()),
            rest.first_chunk_mut::<TAG_LEN>(),
        ) {
            (Ok(tag), Some(place)) => *place = tag.into(),
            _ => in_out.fill(0),
        }
        len + TAG_LEN
    }

    fn decrypt(
        key: &Self::Key,
        count: u64,
        ad: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<(), ()> {
        let (text, tag) = ciphertext.split_last_chunk::<TAG_LEN>().ok_or(())?;
        if text.len() != out.len() {
            return Err(());
        }
        out.copy_from_slice(text);
        let cipher = ChaCha20Poly1305::new(&(*key).into());
        cipher
            .decrypt_inout_detached(&nonce(count), ad, out.into(), &Tag::from(*tag))
            .map_err(|_| ())
    }

    fn decrypt_in_place(
        key: &Self::Key,
        count: u64,
        ad: &[u8],
        in_out: &mut [u8],
        len: usize,
    ) -> Result<usize, ()> {
        let whole = in_out.get_mut(..len).ok_or(())?;
        let (text, tag) = whole.split_last_chunk_mut::<TAG_LEN>().ok_or(())?;
        let cipher = ChaCha20Poly1305::new(&(*key).into());
        let opened = text.len();
        cipher
            .decrypt_inout_detached(&nonce(count), ad, text.into(), &Tag::from(*tag))
            .map_err(|_| ())?;
        Ok(opened)
    }
}

/// SHA-256.
#[derive(Default)]
pub(in crate::link) struct Sha256(sha2::Sha256);

impl Hash for Sha256 {
    type Block = [u8; 64];
    type Output = [u8; 32];

    fn name() -> &'static str {
        "SHA256"
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self) -> Self::Output {
        self.0.finalize_reset().into()
    }
}
