//! LIST: every combination of options.

use serde_json::{Value, json};

use crate::describe::{self, encode, text, token};
use crate::http::Request;
use crate::names::Names;
use crate::rows;
use crate::server::Server;

/// Where rows that name no path are asked.
const COLLECTION: &str = "/api/v1/namespaces/l/configmaps";

/// What a client is told whose page is gone. Tools show it to people, so it is upstream's to the letter.
const PAGE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

#[test]
fn lists_are_what_the_table_says() {
    let server = Server::start(&[]);
    let names = fill(&server);
    let rows = rows::rows(include_str!("../golden/api/list.txt"), 80);
    rows::check(&rows, &names, |query| ask(&server, query));
}

/// Storage answers as the caches do.
#[test]
fn lists_without_a_cache_are_the_same() {
    let server = Server::start(&["--watch-cache", "false"]);
    let names = fill(&server);
    let rows = rows::rows(include_str!("../golden/api/list.txt"), 80);
    rows::check(&rows, &names, |query| ask(&server, query));
}

#[test]
fn lists_of_what_is_compacted_say_how_to_go_on() {
    let server = Server::start(&["--watch-cache", "false", "--compaction-interval", "4s"]);
    let mut names = fill(&server);
    names.set("page-too-old", PAGE_TOO_OLD);
    let old = names.fill("resourceVersion={acde}&resourceVersionMatch=Exact");
    // The revision before the newest goes last.
    let mut tries = 0;
    while !ask(&server, &old).starts_with("410") {
        tries += 1;
        assert!(tries < 1_000, "history is not compacted");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // It was compacted a moment ago, with a revision of its own; the next turn is in two seconds.
    let list = server.send(&Request::new("GET", COLLECTION)).json();
    names.set("now", version(&list));
    let rows = rows::rows(include_str!("../golden/api/list-compacted.txt"), 8);
    rows::check(&rows, &names, |query| ask(&server, query));
}

fn ask(server: &Server, query: &str) -> String {
    let target = match query {
        "-" => COLLECTION.to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        query => format!("{COLLECTION}?{query}"),
    };
    describe::list(&server.send(&Request::new("GET", &target)))
}

/// Objects, and the revisions between: `abc`, `abcde` and `acde` are named after what there is; `now` is the same as `acde`
/// but for an object of another kind.
fn fill(server: &Server) -> Names {
    let mut names = Names::default();
    let namespaces = "/api/v1/namespaces";
    for name in ["l", "l-b"] {
        server.write("POST", namespaces, &json!({"metadata": {"name": name}}));
    }
    server.write(
        "POST",
        "/api/v1/namespaces/l-b/configmaps",
        &json!({"metadata": {"name": "z"}}),
    );
    let create = |name: &str| {
        let kind = if matches!(name, "b" | "d") {
            "even"
        } else {
            "odd"
        };
        let object = json!({"metadata": {"name": name, "labels": {"place": kind}}});
        version(&server.write("POST", COLLECTION, &object))
    };
    names.set("none", create("a") - 1);
    create("b");
    names.set("abc", create("c"));
    create("d");
    let full = create("e");
    names.set("abcde", full);
    server.write("DELETE", &format!("{COLLECTION}/b"), &Value::Null);
    names.set("acde", full + 1);
    let secret = json!({"metadata": {"name": "other"}});
    let now = server.write("POST", "/api/v1/namespaces/l/secrets", &secret);
    names.set("now", version(&now));
    tokens(&mut names, full);
    names
}

fn tokens(names: &mut Names, full: i64) {
    names.set("after-b", token("/b", full));
    names.set("after-b-bare", token("b", full));
    names.set("after-c-later", token("/c", -1));
    names.set("after-e", token("/e", full));
    names.set("after-aa", token("/aa", full));
    names.set("after-l-b", token("/l-b/z", full));
    names.set("future", token("/a", 1_000_000));
    names.set("escaping", token("/../l-b/z", full));
    names.set("double", token("/a//b", full));
    names.set("zero", token("/a", 0));
    let with = |start: &str| encode(&format!(r#"{{"v":"meta.k8s.io/v1","rv":{full}{start}}}"#));
    names.set("no-start", with(""));
    names.set("empty-start", with(r#","start":"""#));
    names.set(
        "old-format",
        encode(&format!(r#"{{"v":"v1","rv":{full},"start":"/a\u0000"}}"#)),
    );
    names.set("not-json", encode("hello"));
}

fn version(object: &Value) -> i64 {
    text(object, "/metadata/resourceVersion")
        .parse()
        .expect("a revision")
}
