//! Objects and lists as tables of rows.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{create, namespace, suites};
use crate::wire::Wire;

const FLAGS: &[&str] = &[];
const TABLE: &str = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";

suites!(rows);

/// The first cell of each row.
fn first_cells(table: &Value) -> Vec<&str> {
    assert_eq!(table["kind"], "Table", "{table}");
    assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    let columns = table["columnDefinitions"].as_array().expect("columns");
    let rows = table["rows"].as_array().into_iter().flatten();
    rows.map(|row| {
        let cells = row["cells"].as_array().expect("cells");
        assert_eq!(cells.len(), columns.len(), "{table}");
        cells[0].as_str().expect("a name")
    })
    .collect()
}

async fn rows(wire: &Wire, name: &str) {
    let home = namespace(wire, name).await;
    let table = wire.with("accept", TABLE);
    let pod = json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "pod-1"},
        "spec": {"containers": [{"name": "foo", "image": "i"}]},
    });
    let created = create(&table, &format!("{home}/pods"), pod).await;
    assert_eq!(first_cells(&created), ["pod-1"]);
    let one = table.get(&format!("{home}/pods/pod-1")).await;
    assert_eq!(first_cells(&one), ["pod-1"]);
    assert_eq!(one["columnDefinitions"][0]["name"], "Name");
    assert_eq!(one["rows"][0]["object"]["kind"], "PartialObjectMetadata");

    for number in 0..3 {
        let template = json!({
            "kind": "PodTemplate", "apiVersion": "v1", "metadata": {"name": format!("template-{number}")},
            "template": {"spec": {"containers": [{"name": "test", "image": "test2"}]}},
        });
        create(wire, &format!("{home}/podtemplates"), template).await;
    }
    let page = table.get(&format!("{home}/podtemplates?limit=2")).await;
    assert_eq!(first_cells(&page), ["template-0", "template-1"]);
    let next = page["metadata"]["continue"].as_str().expect("a token");
    let path = format!("{home}/podtemplates?continue={next}");
    assert_eq!(first_cells(&table.get(&path).await), ["template-2"]);

    let node = format!("node-{name}");
    let object = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": node}});
    create(wire, "/api/v1/nodes", object).await;
    let nodes = table.get("/api/v1/nodes").await;
    assert!(first_cells(&nodes).contains(&&*node), "{nodes}");

    let review = json!({
        "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = table.answer(Method::POST, path, Some(review.clone())).await;
    assert_eq!(answer.status, StatusCode::NOT_ACCEPTABLE);
    assert_eq!(answer.body["kind"], "Status");
    let allowed = create(wire, path, review).await;
    assert_eq!(allowed["status"]["allowed"], true);
}
