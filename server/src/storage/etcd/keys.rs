//! Our keys and etcd's: `/pods/a/b` is stored as `/registry/pods/a/b`.

use std::sync::Arc;

use super::failure::Failure;

/// Translates keys. Nothing that it returns is outside the prefix.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// Without a slash at its end; all keys have one at their beginning.
    prefix: Arc<str>,
}

/// Keys from `start` on, up to but not including `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: Vec<u8>,
    pub(super) end: Vec<u8>,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        let prefix = prefix.trim_matches('/');
        Self {
            prefix: match prefix {
                "" => "".into(),
                prefix => format!("/{prefix}").into(),
            },
        }
    }

    pub(super) fn stored(&self, key: &str) -> Result<Vec<u8>, Failure> {
        if key.len() < 2 || !key.starts_with('/') {
            // Without the slash, it could be in someone else's part of the store.
            return Err(Failure::Refused(format!("invalid key: {key:?}")));
        }
        Ok([self.prefix.as_bytes(), key.as_bytes()].concat())
    }

    /// All keys that begin with `prefix`; with `""`, all.
    pub(super) fn beginning_with(&self, prefix: &str) -> Result<Range, Failure> {
        let prefix = match prefix {
            "" | "/" => "/",
            prefix if prefix.starts_with('/') => prefix,
            prefix => return Err(Failure::Refused(format!("invalid key: {prefix:?}"))),
        };
        let start = [self.prefix.as_bytes(), prefix.as_bytes()].concat();
        Ok(Range {
            end: after_all_with(&start),
            start,
        })
    }

    /// Our name of a stored key. `None` if it has none: it is not text, which keys of ours always are.
    pub(super) fn own(&self, stored: &[u8]) -> Option<Arc<str>> {
        let own = stored.strip_prefix(self.prefix.as_bytes())?;
        str::from_utf8(own).ok().map(Into::into)
    }
}

/// The first key after `key`.
pub(super) fn successor(key: &[u8]) -> Vec<u8> {
    [key, b"\0"].concat()
}

fn after_all_with(start: &[u8]) -> Vec<u8> {
    let mut end = start.to_vec();
    while let Some(last) = end.pop() {
        if last < 0xff {
            end.push(last + 1);
            return end;
        }
    }
    // What etcd understands as "no end".
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_as_it_was() {
        for prefix in ["/registry", "registry/", "", "/", "/a/b"] {
            let keys = Keys::new(prefix);
            let stored = keys.stored("/pods/default/web").unwrap();
            assert_eq!(keys.own(&stored).as_deref(), Some("/pods/default/web"));
        }
        let stored = Keys::new("registry/").stored("/pods/x").unwrap();
        assert_eq!(stored, b"/registry/pods/x");
    }

    #[test]
    fn nothing_leaves_the_prefix() {
        let keys = Keys::new("/registry");
        for key in ["", "/", "pods/x", "-backup/pods/x"] {
            assert!(keys.stored(key).is_err(), "{key}");
        }
        let all = keys.beginning_with("").unwrap();
        assert_eq!(
            (&all.start[..], &all.end[..]),
            (&b"/registry/"[..], &b"/registry0"[..])
        );
        assert!(keys.beginning_with("pods").is_err());
        assert_eq!(keys.own(b"/other/x"), None);
        assert_eq!(keys.own(b"/registry/\xff"), None);
    }

    #[test]
    fn a_range_ends_after_the_last_key_with_its_prefix() {
        assert_eq!(after_all_with(b"a/"), b"a0");
        assert_eq!(after_all_with(b"a\xff\xff"), b"b");
        assert_eq!(after_all_with(b"\xff"), b"\0");
    }
}
