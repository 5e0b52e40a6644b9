//! Kubernetes objects to measure with: a pod as an API server stores it, of about a given size.

use std::fmt::Write;

/// A pod with as many containers, and as much of `managedFields`, as fit into `size` bytes.
///
/// Short keys and values throughout, as in real objects: one long string would be scanned at the
/// speed of memory and flatter the scanner.
pub(crate) fn pod(size: usize) -> String {
    pod_number(0, size)
}

/// Different objects of different sizes, in no order that a branch predictor could learn: what a server
/// reads when it lists. About `count` × 25 KB.
pub(crate) fn mixed(count: usize) -> Vec<String> {
    let sizes = (0..count).map(|n| 1_500 + n * 7_919 % 48_500);
    sizes
        .enumerate()
        .map(|(n, size)| pod_number(n * 31, size))
        .collect()
}

fn pod_number(first: usize, size: usize) -> String {
    let mut text = String::from(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"kubernetes.io/config.seen":"2026-05-04T10:11:12.131415161Z"},"creationTimestamp":"2026-05-04T10:11:12Z","labels":{"app":"shop","app.kubernetes.io/component":"web","env":"prod","pod-template-hash":"7d4b8c6f9","tier":"frontend"},"managedFields":["#,
    );
    let tail = r#"],"name":"shop-web-7d4b8c6f9-x2x4z","namespace":"default","resourceVersion":"123456789","uid":"0b3c1f6e-6f9d-4c6e-9d0a-0f1e2d3c4b5a"},"spec":{"containers":["#;
    let end = r#"],"nodeName":"node-17.example.internal","restartPolicy":"Always","schedulerName":"default-scheduler"},"status":{"phase":"Running","podIP":"10.1.2.3","startTime":"2026-05-04T10:11:12Z"}}"#;
    let fill = |text: &mut String, up_to: usize, item: &dyn Fn(usize) -> String| {
        let begin = text.len();
        for number in first.. {
            let item = item(number);
            if number > first && text.len() + item.len() > up_to {
                break;
            }
            if text.len() > begin {
                text.push(',');
            }
            text.push_str(&item);
        }
    };
    fill(&mut text, size / 2, &managed_fields);
    text.push_str(tail);
    fill(&mut text, size - end.len(), &container);
    text.push_str(end);
    text
}

fn managed_fields(number: usize) -> String {
    let mut fields = String::new();
    for name in ["app", "env", "tier"] {
        // Writing to a string cannot fail.
        let _ = write!(
            fields,
            r#","f:{name}-{number}":{{".":{{}},"f:value":{{}}}}"#
        );
    }
    format!(
        r#"{{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}}{fields}}}}}}},"manager":"controller-{number}","operation":"Update","time":"2026-05-04T10:11:12Z"}}"#
    )
}

fn container(number: usize) -> String {
    format!(
        r#"{{"env":[{{"name":"PORT","value":"{}"}},{{"name":"LOG_LEVEL","value":"info"}}],"image":"registry.example/shop/web-{number}:1.{number}.0","name":"web-{number}","ports":[{{"containerPort":{},"protocol":"TCP"}}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"terminationMessagePath":"/dev/termination-log"}}"#,
        8000 + number,
        8000 + number,
    )
}
