//! What survives a loss of power: how often the board has started, the last state, and the cursor to go on from.
//!
//! ```text
//!   0        how often the board has started
//!   1        cursor: origin, revision, digest
//!   2 + i    object: key, revision, value; empty if the place is free
//! ```
//!
//! Records are in flash by `sequential-storage`, which spreads wear and outlives a cut at any write. [`Keep::save`] writes the objects that have
//! changed and then the cursor. If the power goes in between, the objects are not those of the cursor's digest: [`Keep::restore`] notices,
//! and the node asks for the difference instead of going on.

use core::borrow::Borrow;
use core::time::Duration;

use embedded_storage_async::nor_flash::NorFlash;
use ringwatch_core::digest::Digest;
use ringwatch_core::informer::{Check, Handler, Held};
use ringwatch_core::link::frame::{How, Origin};
use ringwatch_core::link::node::{Bookmark, Mirror, Position, View};
use ringwatch_core::revision::Revision;
use ringwatch_core::store::Slot;
use ringwatch_core::time::Instant;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The longest record, with its number and rounded up to words of flash.
const BUFFER: usize = 256;
const BOOTS: u8 = 0;
const CURSOR: u8 = 1;
const FIRST: u8 = 2;

/// Why flash could not be read or written.
pub type Error<E> = sequential_storage::Error<E>;

/// The records of a node with `N` objects.
pub struct Keep<F: NorFlash, const N: usize> {
    map: MapStorage<u8, F, Cache<Uncached, Uncached, Uncached, u8>>,
    /// What the object records hold.
    places: [Option<Kept>; N],
    /// What the cursor record holds.
    cursor: Option<Cursor>,
    buffer: [u8; BUFFER],
}

/// An object as it is in flash. Its key is known by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    key: Digest,
    revision: Revision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    origin: Origin,
    revision: Revision,
    digest: Digest,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record<'a, T> {
    key: &'a str,
    revision: Revision,
    value: T,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// Nothing to go on from.
    Nothing,
    /// The view at this revision.
    At(Revision),
    /// A view that was being saved when the power went.
    Doubtful,
}

impl<F: NorFlash, const N: usize> Keep<F, N> {
    /// Records in all of this flash.
    ///
    /// # Panics
    ///
    /// If the flash has less than two pages: a mistake of the board's author, who sees it at once.
    pub fn new(flash: F) -> Self {
        const {
            assert!(
                N < (u8::MAX - FIRST) as usize,
                "records are numbered by a byte"
            )
        };
        let end = u32::try_from(flash.capacity()).unwrap_or(u32::MAX);
        Self {
            map: MapStorage::new(flash, MapConfig::new(0..end), Cache::new_uncached()),
            places: [None; N],
            cursor: None,
            buffer: [0; BUFFER],
        }
    }

    /// The board starts: how often it has, with this time.
    pub async fn boot(&mut self) -> Result<u32, Error<F::Error>> {
        let before: Option<u32> = self.map.fetch_item(&mut self.buffer, &BOOTS).await?;
        let boots = before.unwrap_or(0).wrapping_add(1);
        self.map
            .store_item(&mut self.buffer, &BOOTS, &boots)
            .await?;
        Ok(boots)
    }

    /// The board starts: how often it has. Flash that cannot be read is erased, which is said.
    pub async fn count(&mut self) -> u32 {
        match self.boot().await {
            Ok(boot) => boot,
            Err(_) => {
                log::warn!("flash cannot be read, and is erased");
                let _ = self.erase().await;
                self.boot().await.unwrap_or(0)
            }
        }
    }

    /// Forgets everything: for flash that cannot be read.
    pub async fn erase(&mut self) -> Result<(), Error<F::Error>> {
        self.places = [None; N];
        self.cursor = None;
        self.map.erase_all().await
    }

    /// Puts the last state into a mirror, which is new; the handler hears of each object.
    pub async fn restore<K, T>(
        &mut self,
        mirror: &mut Mirror<K, T, [Slot<K, Held<T>>; N]>,
        handler: &mut impl Handler<T>,
        now: Instant,
    ) -> Result<Restored, Error<F::Error>>
    where
        K: Ord + Borrow<str> + for<'k> TryFrom<&'k str>,
        T: DeserializeOwned,
    {
        let cursor: Option<&[u8]> = self.map.fetch_item(&mut self.buffer, &CURSOR).await?;
        self.cursor = cursor.and_then(|bytes| postcard::from_bytes(bytes).ok());
        if let Some(cursor) = self.cursor {
            feed(mirror, handler).begin(cursor.origin, How::Snapshot);
        }
        for (number, place) in (FIRST..).zip(&mut self.places) {
            let bytes: Option<&[u8]> = self.map.fetch_item(&mut self.buffer, &number).await?;
            let record = bytes.and_then(|bytes| postcard::from_bytes::<Record<'_, T>>(bytes).ok());
            let Some(record) = record else { continue };
            *place = Some(Kept {
                key: hash(record.key),
                revision: record.revision,
            });
            // What does not fit is missing from the digest, which tells.
            if self.cursor.is_some() {
                let informer = mirror.informer_mut();
                let _ = informer.put(record.key, record.revision, record.value, handler);
            }
        }
        let Some(cursor) = self.cursor else {
            return Ok(Restored::Nothing);
        };
        let mut bookmark = Bookmark {
            revision: cursor.revision,
            digest: None,
            age: Duration::MAX,
            skipped: 0,
            ends_snapshot: true,
        };
        let mut feed = feed(mirror, handler);
        feed.bookmark(bookmark, now);
        // Compared only now: a view that differs is then one to be repaired, and not none.
        bookmark.ends_snapshot = false;
        bookmark.digest = Some(cursor.digest);
        Ok(match feed.bookmark(bookmark, now) {
            Check::Differs => Restored::Doubtful,
            Check::Agrees | Check::NotCompared => Restored::At(cursor.revision),
        })
    }

    /// Whether flash holds something else than the mirror, which is in step.
    pub fn is_behind<K, T>(&self, mirror: &mut Mirror<K, T, [Slot<K, Held<T>>; N]>) -> bool
    where
        K: Ord + Borrow<str> + for<'k> TryFrom<&'k str>,
        T: DeserializeOwned,
    {
        cursor(mirror).is_some_and(|cursor| self.cursor != Some(cursor))
    }

    /// Writes what has changed since the last time, if the mirror is in step; how many records.
    pub async fn save<K, T>(
        &mut self,
        mirror: &mut Mirror<K, T, [Slot<K, Held<T>>; N]>,
    ) -> Result<usize, Error<F::Error>>
    where
        K: Ord + Borrow<str> + for<'k> TryFrom<&'k str>,
        T: Serialize + DeserializeOwned,
    {
        let Some(cursor) = cursor(mirror) else {
            return Ok(0);
        };
        if self.cursor == Some(cursor) {
            return Ok(0);
        }
        // From here on the cursor in flash is not that of the objects.
        self.cursor = None;
        let mut written = self.free_what_is_gone(mirror).await?;
        for (key, revision, value) in mirror.informer().entries() {
            let kept = Kept {
                key: hash(key),
                revision,
            };
            let own = |place: &Option<Kept>| place.is_some_and(|it| it.key == kept.key);
            let place = self.places.iter().position(own);
            let place = place.or_else(|| self.places.iter().position(Option::is_none));
            // There are as many places as the mirror has.
            let Some(at) = place else { continue };
            let Some(place) = self.places.get_mut(at) else {
                continue;
            };
            let number = FIRST + at as u8;
            if *place == Some(kept) {
                continue;
            }
            let mut record = [0; BUFFER];
            let record = postcard::to_slice(
                &Record {
                    key,
                    revision,
                    value,
                },
                &mut record,
            );
            let record: &[u8] = record.map_err(|_| Error::BufferTooSmall(BUFFER))?;
            // What is there is not known until it is written.
            *place = None;
            let stored = self.map.store_item(&mut self.buffer, &number, &record);
            stored.await?;
            *place = Some(kept);
            written += 1;
        }
        let mut bytes = [0; BUFFER];
        let bytes = postcard::to_slice(&cursor, &mut bytes);
        let bytes: &[u8] = bytes.map_err(|_| Error::BufferTooSmall(BUFFER))?;
        let stored = self.map.store_item(&mut self.buffer, &CURSOR, &bytes);
        stored.await?;
        self.cursor = Some(cursor);
        Ok(written + 1)
    }

    async fn free_what_is_gone<K, T>(
        &mut self,
        mirror: &Mirror<K, T, [Slot<K, Held<T>>; N]>,
    ) -> Result<usize, Error<F::Error>>
    where
        K: Ord + Borrow<str> + for<'k> TryFrom<&'k str>,
    {
        let mut written = 0;
        for (number, place) in (FIRST..).zip(&mut self.places) {
            let Some(kept) = place else { continue };
            let mut keys = mirror.informer().iter().map(|(key, _)| hash(key));
            if !keys.any(|key| key == kept.key) {
                let empty: &[u8] = &[];
                let stored = self.map.store_item(&mut self.buffer, &number, &empty);
                stored.await?;
                *place = None;
                written += 1;
            }
        }
        Ok(written)
    }

    /// The flash.
    pub fn into_flash(self) -> F {
        self.map.destroy().0
    }
}

/// The view of a mirror; objects are not decoded here.
fn feed<'m, K, T, H, const N: usize>(
    mirror: &'m mut Mirror<K, T, [Slot<K, Held<T>>; N]>,
    handler: &'m mut H,
) -> impl View + 'm
where
    K: Ord + Borrow<str> + for<'k> TryFrom<&'k str>,
    H: Handler<T>,
{
    mirror.feed(|_| None, handler)
}

/// Where a mirror is, if it is in step.
fn cursor<K, T, const N: usize>(mirror: &mut Mirror<K, T, [Slot<K, Held<T>>; N]>) -> Option<Cursor>
where
    K: Ord + Borrow<str> + for<'k> TryFrom<&'k str>,
{
    let digest = mirror.informer().digest();
    match feed(mirror, &mut ()).position() {
        Position::At {
            origin, revision, ..
        } => Some(Cursor {
            origin,
            revision,
            digest,
        }),
        _ => None,
    }
}

fn hash(key: &str) -> Digest {
    Digest::of(key, Revision::ZERO)
}
