//! What etcd's errors mean.
//!
//! The line that matters runs between "it was not done" and "it may have been done". Only a refusal by etcd itself, or
//! a connection that was never made, counts as the former.

use ringwatch_core::revision::Revision;

use crate::storage::StorageError;

/// Why a call to etcd failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The revision is compacted; up to here, if etcd says so.
    Compacted(Option<Revision>),
    /// The revision is not reached.
    Future,
    /// etcd said no, and will say so again.
    Refused(String),
    /// etcd said no because our login is out of date. A new one helps.
    Login(String),
    /// etcd said no because the lease is gone.
    LeaseNotFound,
    /// The request did not leave this machine.
    NotSent(String),
    /// Whether the request was carried out is not known.
    Unknown(String),
    /// etcd found its data inconsistent.
    Damaged(String),
}

/// The codes of gRPC that are told apart.
mod code {
    pub(super) const INVALID_ARGUMENT: i32 = 3;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const ALREADY_EXISTS: i32 = 6;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const FAILED_PRECONDITION: i32 = 9;
    pub(super) const OUT_OF_RANGE: i32 = 11;
    pub(super) const UNIMPLEMENTED: i32 = 12;
    pub(super) const DATA_LOSS: i32 = 15;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

impl Failure {
    /// What an answer with this code and text means. `refused` is whether the connection could not be made.
    pub(super) fn of_status(code: i32, text: &str, refused: bool) -> Self {
        if refused {
            return Self::NotSent(text.to_owned());
        }
        // etcd gives several meanings to one code; its texts are part of its API.
        if text.contains("required revision has been compacted") {
            return Self::Compacted(None);
        }
        if text.contains("required revision is a future revision") {
            return Self::Future;
        }
        if text.contains("requested lease not found") {
            return Self::LeaseNotFound;
        }
        if is_about_login(text) {
            return Self::Login(text.to_owned());
        }
        let text = text.to_owned();
        match code {
            code::DATA_LOSS => Self::Damaged(text),
            // Space comes back when an operator makes some, and crowds pass: not a fault of the request.
            code::RESOURCE_EXHAUSTED
                if text.contains("space exceeded") || text.contains("too many requests") =>
            {
                Self::Unknown(text)
            }
            code::INVALID_ARGUMENT
            | code::NOT_FOUND
            | code::ALREADY_EXISTS
            | code::PERMISSION_DENIED
            | code::RESOURCE_EXHAUSTED
            | code::FAILED_PRECONDITION
            | code::OUT_OF_RANGE
            | code::UNIMPLEMENTED
            | code::UNAUTHENTICATED => Self::Refused(text),
            _ => Self::Unknown(text),
        }
    }

    /// Why a watch was cancelled. etcd reports every problem with a login as a denied permission here.
    pub(super) fn of_cancelled_watch(compacted: Option<Revision>, reason: &str) -> Self {
        match compacted {
            Some(floor) => Self::Compacted(Some(floor)),
            None if is_about_login(reason) || reason.contains("permission denied") => {
                Self::Login(reason.to_owned())
            }
            None => Self::of_status(0, reason, false),
        }
    }
}

fn is_about_login(text: &str) -> bool {
    text.contains("invalid auth token") || text.contains("revision of auth store is old")
}

impl From<Failure> for StorageError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Compacted(floor) => Self::Compacted { floor },
            Failure::Future => Self::Future { newest: None },
            Failure::Refused(why) | Failure::Login(why) => Self::Refused(why),
            // Leases are renewed before this is seen outside.
            Failure::LeaseNotFound => Self::Unavailable("lease expired".to_owned()),
            Failure::NotSent(why) | Failure::Unknown(why) => Self::Unavailable(why),
            Failure::Damaged(why) => Self::Damaged(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_etcd_are_understood() {
        let meaning = |code, text: &str| Failure::of_status(code, text, false);
        let compacted = "etcdserver: mvcc: required revision has been compacted";
        assert_eq!(meaning(11, compacted), Failure::Compacted(None));
        let future = "etcdserver: mvcc: required revision is a future revision";
        assert_eq!(meaning(11, future), Failure::Future);
        let lease = "etcdserver: requested lease not found";
        assert_eq!(meaning(5, lease), Failure::LeaseNotFound);
        for (code, text) in [
            (3, "etcdserver: too many operations in txn request"),
            (3, "etcdserver: duplicate key given in txn request"),
            (3, "etcdserver: request is too large"),
            (7, "etcdserver: permission denied"),
            (8, "grpc: received message larger than max (9 vs. 8)"),
            (11, "decoded message length too large"),
        ] {
            assert!(matches!(meaning(code, text), Failure::Refused(_)), "{text}");
        }
        for (code, text) in [
            (8, "etcdserver: mvcc: database space exceeded"),
            (8, "etcdserver: too many requests"),
            (14, "etcdserver: request timed out"),
            (14, "etcdserver: no leader"),
            (14, "etcdserver: leader changed"),
            (4, "context deadline exceeded"),
            (2, "h2 protocol error"),
            (1, "operation was canceled"),
        ] {
            assert!(matches!(meaning(code, text), Failure::Unknown(_)), "{text}");
        }
        let corrupt = meaning(15, "etcdserver: corrupt cluster");
        assert!(matches!(corrupt, Failure::Damaged(_)));
        let old = meaning(3, "etcdserver: revision of auth store is old");
        assert!(matches!(old, Failure::Login(_)));
    }

    #[test]
    fn a_lost_answer_is_not_a_refusal() {
        let lost = StorageError::from(Failure::of_status(14, "broken pipe", false));
        assert!(matches!(lost, StorageError::Unavailable(_)));
        let never = Failure::of_status(14, "tcp connect error", true);
        assert!(matches!(never, Failure::NotSent(_)));
    }

    #[test]
    fn a_cancelled_watch_says_whether_it_is_worth_trying_again() {
        let floor = Some(Revision::new(9));
        assert_eq!(
            Failure::of_cancelled_watch(floor, ""),
            Failure::Compacted(floor)
        );
        let denied = Failure::of_cancelled_watch(None, "rpc error: etcdserver: permission denied");
        assert!(matches!(denied, Failure::Login(_)));
        let leaderless = Failure::of_cancelled_watch(None, "etcdserver: no leader");
        assert!(matches!(leaderless, Failure::Unknown(_)));
    }
}
