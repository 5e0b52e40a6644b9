//! Pages of a long list.

use std::time::Duration;

use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{create, namespace, suites};
use crate::PATIENCE;
use crate::wire::{Wire, revision};

/// History is forgotten soon, which the suites wait for.
const FLAGS: &[&str] = &["--compaction-interval", "1s"];
const TEMPLATES: usize = 400;

suites!(pages);

/// The next page.
async fn page(wire: &Wire, collection: &str, limit: usize, token: &str) -> Value {
    let token = match token {
        "" => String::new(),
        token => format!("continue={token}&"),
    };
    wire.get(&format!("{collection}?{token}limit={limit}"))
        .await
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    let items = list["items"].as_array().into_iter().flatten();
    items.map(|item| item["metadata"]["name"].as_str().expect("a name"))
}

fn token(list: &Value) -> String {
    let token = list["metadata"].get("continue").and_then(Value::as_str);
    token.unwrap_or_default().to_owned()
}

async fn pages(wire: &Wire, name: &str) {
    let templates = format!("{}/podtemplates", namespace(wire, name).await);
    let expected: Vec<_> = (0..TEMPLATES).map(|n| format!("template-{n:04}")).collect();
    for some in expected.chunks(40) {
        join_all(some.iter().map(|name| {
            let object = json!({
                "kind": "PodTemplate", "apiVersion": "v1", "metadata": {"name": name},
                "template": {"spec": {"containers": [{"name": "test", "image": "test2"}]}},
            });
            create(wire, &templates, object)
        }))
        .await;
    }
    for limit in [17, 40, 401] {
        let mut seen = Vec::new();
        let mut at = String::new();
        let mut state = None;
        loop {
            let list = page(wire, &templates, limit, &at).await;
            seen.extend(names(&list).map(ToOwned::to_owned));
            let metadata = &list["metadata"];
            let at_this = revision(&list);
            assert_eq!(*state.get_or_insert(at_this), at_this, "one state");
            at = token(&list);
            let left = TEMPLATES - seen.len();
            assert_eq!(at.is_empty(), left == 0);
            let remaining = metadata.get("remainingItemCount").and_then(Value::as_u64);
            assert_eq!(remaining, (left > 0).then_some(left as u64));
            if at.is_empty() {
                break;
            }
            assert_eq!(names(&list).count(), limit);
        }
        assert_eq!(seen, expected, "{limit}");
    }
    forgotten(wire, &templates, &expected).await;
}

/// A page whose state is compacted by the time: refused, with a token for the rest as it is then.
async fn forgotten(wire: &Wire, templates: &str, expected: &[String]) {
    const PAGE: usize = 40;
    const POLL: Duration = Duration::from_millis(50);
    let first = page(wire, templates, PAGE, "").await;
    let path = format!("{templates}?limit={PAGE}&continue={}", token(&first));
    let begun = tokio::time::Instant::now();
    let expired = loop {
        let answer = wire.answer(Method::GET, &path, None).await;
        if answer.status != StatusCode::OK {
            break answer;
        }
        assert!(begun.elapsed() < PATIENCE, "nothing is forgotten");
        if !wire.reads_from_a_relay() {
            // As the suites do, nobody writes anything meanwhile.
            sleep(POLL).await;
            continue;
        }
        // A relay forgets by what happens, not by time.
        join_all(expected.iter().rev().take(PAGE).map(async |name| {
            let path = format!("{templates}/{name}");
            let mut object = wire.get(&path).await;
            object["metadata"]["labels"] = json!({"at": begun.elapsed().as_millis().to_string()});
            wire.ask(Method::PUT, &path, Some(object)).await;
        }))
        .await;
    };
    assert_eq!(expired.status, StatusCode::GONE, "{expired:?}");
    assert_eq!(expired.body["reason"], "Expired");
    let mut rest = token(&expired.body);
    let mut seen: Vec<_> = names(&first).map(ToOwned::to_owned).collect();
    let mut later = None;
    while !rest.is_empty() {
        let list = page(wire, templates, PAGE, &rest).await;
        assert_eq!(names(&list).count(), PAGE);
        seen.extend(names(&list).map(ToOwned::to_owned));
        let left = list["metadata"].get("remainingItemCount");
        let left = left.and_then(Value::as_u64).unwrap_or(0);
        assert_eq!(left as usize + seen.len(), TEMPLATES);
        // Of one state again, which is another one.
        let state = revision(&list);
        assert!(state > revision(&first), "{list}");
        assert_eq!(*later.get_or_insert(state), state);
        rest = token(&list);
    }
    assert_eq!(seen, expected);
}
