//! Tokens and certificates that change while the relay runs.

use crate::bodies::{PODS, PODS_WATCH, bookmark, event, live, pod, site};
use crate::replay::{Play, Replay};
use crate::support::{Site, until};
use crate::tls::{Authority, Front, Pair, Shown};

#[test]
fn a_token_that_has_changed_is_read_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The stream ends when this is dropped.
    let (upstream, stream) = live(&pieces);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(stream))]);
    let token = folder.path().join("token");
    std::fs::write(&token, "first\n").unwrap();
    let site = site(&folder, &replay);
    site.set("[[watch]]", "token-file = \"token\"\n[[watch]]");
    let _relay = site.run();
    site.until_listed(PODS, 1);
    assert!(replay.count("Bearer first") > 0);
    std::fs::write(&token, "second\n").unwrap();
    drop(upstream);
    until("the new token", || {
        (replay.count("resourceVersion=11 Bearer second") > 0).then_some(())
    });
    assert_eq!(replay.count("limit="), 0);
}

/// A relay whose upstream is behind TLS, with the certificates in its folder.
fn secured(folder: &tempfile::TempDir, front: &Front) -> Site {
    let upstream = format!(
        "url = \"https://127.0.0.1:{}\"\nca-file = \"ca.pem\"\ncert-file = \"own.pem\"\ncert-key-file = \"own.key\"",
        front.port
    );
    Site::new(folder.path(), &upstream, PODS_WATCH)
}

fn believe(folder: &tempfile::TempDir, authority: &Authority) {
    std::fs::write(folder.path().join("ca.pem"), authority.certificate.pem()).unwrap();
}

fn show(folder: &tempfile::TempDir, pair: &Pair) {
    std::fs::write(folder.path().join("own.pem"), pair.certificate.pem()).unwrap();
    std::fs::write(folder.path().join("own.key"), pair.key.serialize_pem()).unwrap();
}

#[test]
fn a_certificate_that_has_changed_is_shown_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The stream ends when this is dropped.
    let (upstream, stream) = live(&pieces);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(stream))]);
    let authority = Authority::new();
    let front = Front::start(&authority, replay.port);
    let (first, second) = (authority.sign(), authority.sign());
    believe(&folder, &authority);
    show(&folder, &first);
    let site = secured(&folder, &front);
    let _relay = site.run();
    site.until_listed(PODS, 1);
    let before = front.shown();
    assert!(!before.is_empty());
    for request in &before {
        assert_eq!(&request.certificate, first.certificate.der(), "{request:?}");
    }
    show(&folder, &second);
    drop(upstream);
    until("the next watch", || {
        let mut shown = front.shown().into_iter();
        shown
            .any(|request| request.path.contains("resourceVersion=11"))
            .then_some(())
    });
    for request in front.shown().iter().skip(before.len()) {
        assert_eq!(
            &request.certificate,
            second.certificate.der(),
            "{request:?}"
        );
    }
    assert_eq!(
        (replay.count("sendInitialEvents"), replay.count("limit=")),
        (1, 0)
    );
}

#[test]
fn an_authority_that_has_changed_is_believed_for_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let pieces = vec![event("ADDED", &pod("a", 10, "Running")), bookmark(11, true)];
    // The stream ends when this is dropped.
    let (upstream, stream) = live(&pieces);
    let replay = Replay::start(vec![("sendInitialEvents", Play::Live(stream))]);
    let (old, new) = (Authority::new(), Authority::new());
    let front = Front::start(&old, replay.port);
    believe(&folder, &old);
    show(&folder, &old.sign());
    let site = secured(&folder, &front);
    let _relay = site.run();
    site.until_listed(PODS, 1);
    // The server shows a certificate that nobody here knows, until the file says who signed it.
    front.believe(&new);
    drop(upstream);
    let connects = || site.metric("ringwatch_edge_upstream_connects_total");
    let before = connects();
    until("attempts that fail", || {
        (connects() >= before + 2).then_some(())
    });
    let again = |request: &Shown| request.path.contains("resourceVersion=11");
    assert!(!front.shown().iter().any(again));
    believe(&folder, &new);
    show(&folder, &new.sign());
    until("the next watch", || {
        front.shown().iter().any(again).then_some(())
    });
    assert_eq!(
        (replay.count("sendInitialEvents"), replay.count("limit=")),
        (1, 0)
    );
}
