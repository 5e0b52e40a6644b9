//! Pages of a long list.

use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{create, namespace, suites};
use crate::PATIENCE;
use crate::wire::Wire;

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
        let mut revision = Value::Null;
        loop {
            let list = page(wire, &templates, limit, &at).await;
            seen.extend(names(&list).map(ToOwned::to_owned));
            let metadata = &list["metadata"];
            if revision.is_null() {
                revision = metadata["resourceVersion"].clone();
            }
            assert_eq!(metadata["resourceVersion"], revision, "one state");
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
    let first = page(wire, templates, PAGE, "").await;
    let path = format!("{templates}?limit={PAGE}&continue={}", token(&first));
    let begun = tokio::time::Instant::now();
    let expired = loop {
        let answer = wire.answer(Method::GET, &path, None).await;
        if answer.status != StatusCode::OK {
            break answer;
        }
        assert!(begun.elapsed() < PATIENCE, "nothing is forgotten");
        // Something has to happen for a state to be in the past; a relay forgets by what happens, not by time.
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
    let rest = token(&expired.body);
    assert!(!rest.is_empty(), "{expired:?}");
    let list = wire
        .get(&format!("{templates}?limit={TEMPLATES}&continue={rest}"))
        .await;
    let seen: Vec<_> = names(&first).chain(names(&list)).collect();
    assert_eq!(seen, expected);
    assert!(token(&list).is_empty());
}
