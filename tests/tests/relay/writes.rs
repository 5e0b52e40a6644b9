//! Random writes, by some writers at once, the same each time.

use ringwatch_tests::random::Random;

use crate::http::Http;

const WRITERS: u64 = 4;

/// Writes so many times, each writer its part.
pub(crate) fn write(port: u16, seed: u64, writes: u64) {
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let mut random = Random::new(seed * WRITERS + writer);
                let mut http = Http::new(port);
                for _ in 0..writes.div_ceil(WRITERS) {
                    one(&mut http, &mut random);
                }
            });
        }
    });
}

fn one(http: &mut Http, random: &mut Random) {
    let namespace = ["default", "yard"][random.below(2)];
    let name = format!("thing-{}", random.below(100));
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let color = ["red", "green", "blue"][random.below(3)];
    let value = random.below(1_000_000);
    let note = "x".repeat(random.below(900));
    let object = format!(
        r#"{{"metadata":{{"name":"{name}","labels":{{"color":"{color}"}}}},"data":{{"value":"{value}","note":"{note}"}}}}"#
    );
    // What is there already is changed, what is not is made; either may be refused, which is as good.
    let done = match random.below(5) {
        0 => http.ask("DELETE", &format!("{path}/{name}"), ""),
        1 | 2 => http.ask("PATCH", &format!("{path}/{name}"), &object),
        _ => http.ask("POST", &path, &object),
    };
    let status = done.map(|(status, _)| status);
    assert!(status.is_some_and(|status| status < 500), "{status:?}");
}
