//! The HTTP side: pages, states, forms and columns, from what an API server says.

use std::sync::mpsc;

use serde_json::Value;

use super::bodies::{PODS, bookmark, event, live, pod, site};
use super::replay::{Play, Replay};
use super::support::{Answer, Running, Site, ask, until};

const TABLE: &str = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n";

fn parsed(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|why| panic!("{why}: {answer:?}"))
}

/// A relay of the pods `a` to `g` at revision 20, that remembers four changes, and somebody upstream who can say more.
struct Scene {
    site: Site,
    upstream: mpsc::Sender<String>,
    _relay: Running,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut first: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"]
            .iter()
            .zip(10..)
            .map(|(name, revision)| event("ADDED", &pod(name, revision, "Running")))
            .collect();
        first.push(bookmark(20, true));
        let (upstream, pieces) = live(&first);
        let replay = Replay::start(vec![("sendInitialEvents", Play::Live(pieces))]);
        let site = site(&folder, &replay);
        site.set("changes = 50", "changes = 4");
        let relay = site.run();
        site.until_listed(PODS, 7);
        Self {
            site,
            upstream,
            _relay: relay,
            _folder: folder,
        }
    }

    /// Something happens to a pod, and has happened at the relay.
    fn happens(&self, kind: &str, name: &str, revision: u64, phase: &str) {
        let line = event(kind, &pod(name, revision, phase));
        self.upstream.send(line).unwrap();
        until(&format!("revision {revision}"), || {
            (self.revision() == revision).then_some(())
        });
    }

    fn revision(&self) -> u64 {
        let name = "ringwatch_edge_revision{resource=\"pods\",namespace=\"\"}";
        self.site.metric(name)
    }

    fn get(&self, query: &str) -> (u16, Value) {
        let answer = self.site.get(&format!("{PODS}?{query}")).unwrap();
        (answer.status, parsed(&answer))
    }

    /// A page: what it shows of each pod, and its metadata.
    fn page(&self, query: &str) -> (String, Value) {
        let (status, mut list) = self.get(query);
        assert_eq!(status, 200, "{query}: {list}");
        let items = list["items"].as_array().unwrap();
        let shown = items.iter().map(|pod| {
            let (name, phase) = (&pod["metadata"]["name"], &pod["status"]["phase"]);
            format!("{}={}", name.as_str().unwrap(), phase.as_str().unwrap())
        });
        let shown = shown.collect::<Vec<_>>().join(" ");
        (shown, list["metadata"].take())
    }
}

#[test]
fn pages_are_of_one_state_for_as_long_as_it_is_remembered() {
    let scene = Scene::new();
    let (shown, first) = scene.page("limit=2");
    assert_eq!(shown, "a=Running b=Running");
    assert_eq!(
        (&first["resourceVersion"], &first["remainingItemCount"]),
        (&"20".into(), &5.into())
    );
    let next = first["continue"].as_str().unwrap();
    // Everything that can happen, once and twice.
    scene.happens("DELETED", "c", 21, "Running");
    scene.happens("ADDED", "cc", 22, "New");
    scene.happens("MODIFIED", "e", 23, "Failed");
    scene.happens("MODIFIED", "e", 24, "Lost");
    let (shown, second) = scene.page(&format!("limit=3&continue={next}"));
    assert_eq!(shown, "c=Running d=Running e=Running");
    assert_eq!(
        (&second["resourceVersion"], &second["remainingItemCount"]),
        (&"20".into(), &2.into())
    );
    let last = second["continue"].as_str().unwrap();
    let (shown, last) = scene.page(&format!("continue={last}"));
    assert_eq!(shown, "f=Running g=Running");
    assert_eq!(last, serde_json::json!({"resourceVersion": "20"}));
    // The same by revision, and in between.
    let exact = |revision: u64| format!("resourceVersion={revision}&resourceVersionMatch=Exact");
    let (shown, _) = scene.page(&format!("{}&limit=4", exact(22)));
    assert_eq!(shown, "a=Running b=Running cc=New d=Running");
    let (shown, head) = scene.page("");
    assert_eq!(
        shown,
        "a=Running b=Running cc=New d=Running e=Lost f=Running g=Running"
    );
    assert_eq!(head["resourceVersion"], "24");
    // A selection says nothing of how many there are, and may end with an empty page.
    let (shown, head) = scene.page("limit=1&labelSelector=app%3Df");
    assert_eq!(
        (shown.as_str(), &head["remainingItemCount"]),
        ("f=Running", &Value::Null)
    );
    let (shown, head) = scene.page(&format!(
        "limit=1&labelSelector=app%3Df&continue={}",
        head["continue"].as_str().unwrap()
    ));
    assert_eq!((shown.as_str(), head.get("continue")), ("", None));

    // One change more, and the first page's state is not known any more.
    scene.happens("DELETED", "f", 25, "Running");
    let (status, gone) = scene.get(&format!("limit=3&continue={next}"));
    assert_eq!((status, &gone["reason"]), (410, &"Expired".into()));
    assert!(
        gone["message"]
            .as_str()
            .unwrap()
            .starts_with("The provided continue parameter is too old")
    );
    let rest = gone["metadata"]["continue"].as_str().unwrap();
    let (shown, third) = scene.page(&format!("limit=3&continue={rest}"));
    assert_eq!(shown, "cc=New d=Running e=Lost");
    assert_eq!(third["resourceVersion"], "25");
    // From there on it is one state again.
    scene.happens("DELETED", "g", 26, "Running");
    let rest = third["continue"].as_str().unwrap();
    let (shown, _) = scene.page(&format!("continue={rest}"));
    assert_eq!(shown, "g=Running");
    let (status, gone) = scene.get(&exact(20));
    assert_eq!((status, &gone["reason"]), (410, &"Expired".into()));
}

#[test]
fn a_revision_that_is_under_way_is_waited_for_but_not_for_long() {
    let scene = Scene::new();
    let answer = scene
        .site
        .get(&format!("{PODS}?resourceVersion=99"))
        .unwrap();
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (504, Some("1"))
    );
    let status = parsed(&answer);
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    for path in [
        format!("{PODS}?resourceVersion=REVISION"),
        format!("{PODS}/a?resourceVersion=REVISION"),
        format!(
            "{PODS}?watch=1&timeoutSeconds=1&resourceVersion=REVISION&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
        ),
    ] {
        let revision = scene.revision() + 1;
        let path = path.replace("REVISION", &revision.to_string());
        let address = ([127, 0, 0, 1], scene.site.http).into();
        let asked = path.clone();
        let waiting = std::thread::spawn(move || ask(address, "GET", &asked, "").unwrap());
        scene.happens("MODIFIED", "a", revision, "Late");
        let answer = waiting.join().unwrap();
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.body.contains("Late"), "{path}: {}", answer.body);
    }
}

#[test]
fn refusals_are_those_of_an_api_server() {
    let scene = Scene::new();
    for (method, path, headers, status, reason, words) in [
        (
            "POST",
            PODS,
            "Content-Length: 0\r\n",
            405,
            "MethodNotAllowed",
            "the relay is read-only",
        ),
        (
            "DELETE",
            &format!("{PODS}/a"),
            "",
            405,
            "MethodNotAllowed",
            "the relay is read-only",
        ),
        (
            "GET",
            &format!("{PODS}/z"),
            "",
            404,
            "NotFound",
            "pods \"z\" not found",
        ),
        (
            "GET",
            "/api/v1/secrets",
            "",
            404,
            "NotFound",
            "could not find the requested resource",
        ),
        (
            "GET",
            "/api/v2/pods",
            "",
            404,
            "NotFound",
            "could not find the requested resource",
        ),
        (
            "GET",
            PODS,
            "Accept: application/yaml\r\n",
            406,
            "NotAcceptable",
            "application/json",
        ),
        (
            "GET",
            &format!("{PODS}?labelSelector=a+b"),
            "",
            400,
            "BadRequest",
            "expected: ",
        ),
        (
            "GET",
            &format!("{PODS}?fieldSelector=a"),
            "",
            400,
            "BadRequest",
            "invalid selector",
        ),
        (
            "GET",
            &format!("{PODS}?limit=x"),
            "",
            400,
            "BadRequest",
            "invalid syntax",
        ),
        (
            "GET",
            &format!("{PODS}?continue=x"),
            "",
            400,
            "BadRequest",
            "invalid continue token",
        ),
        (
            "GET",
            &format!("{PODS}?watch=1&sendInitialEvents=1"),
            "",
            422,
            "Invalid",
            "requires setting resourceVersionMatch",
        ),
        (
            "GET",
            &format!("{PODS}?includeObject=All"),
            TABLE,
            400,
            "BadRequest",
            "includeObject",
        ),
    ] {
        let answer = scene.site.ask(method, path, headers).unwrap();
        let body = parsed(&answer);
        assert_eq!(
            (answer.status, &body["reason"]),
            (status, &reason.into()),
            "{method} {path}"
        );
        assert_eq!(
            (&body["kind"], &body["code"]),
            (&"Status".into(), &status.into())
        );
        let message = body["message"].as_str().unwrap();
        assert!(message.contains(words), "{method} {path}: {message}");
    }
    // In the stream, since the answer has begun.
    scene.happens("MODIFIED", "a", 21, "Failed");
    let late = scene
        .site
        .get(&format!("{PODS}?watch=1&resourceVersion=3"))
        .unwrap();
    assert_eq!(late.status, 200);
    let event = parsed(&late);
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&"ERROR".into(), &410.into())
    );
    assert_eq!(
        event["object"]["message"],
        "too old resource version: 3 (20)"
    );
}

/// Initial objects in each form, the bookmark that ends them, and the one that ends the watch.
#[test]
fn a_list_that_comes_as_a_watch() {
    let scene = Scene::new();
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1&labelSelector=app+in+%28a%2Cb%29";
    let path = format!("{PODS}?{query}");
    let metadata = "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n";
    for (headers, kind) in [
        ("", "Pod"),
        (TABLE, "Table"),
        (metadata, "PartialObjectMetadata"),
    ] {
        let answer = scene.site.ask("GET", &path, headers).unwrap();
        let lines: Vec<Value> = answer
            .body
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let kinds: Vec<_> = lines
            .iter()
            .map(|line| line["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["ADDED", "ADDED", "BOOKMARK", "BOOKMARK"], "{kind}");
        for (number, line) in lines.iter().enumerate() {
            let object = &line["object"];
            assert_eq!(object["kind"], kind, "{line}");
            assert_eq!(
                object["columnDefinitions"].is_array(),
                kind == "Table" && number == 0
            );
            let metadata = match kind {
                "Table" => &object["rows"][0]["object"]["metadata"],
                _ => &object["metadata"],
            };
            let ends = &metadata["annotations"]["k8s.io/initial-events-end"];
            assert_eq!(ends == "true", number == 2, "{line}");
            if number >= 2 {
                assert_eq!(metadata["resourceVersion"], "20");
            }
        }
    }
}

const LAMP: &str = r#"{"kind":"Lamp","apiVersion":"example.com/v1","metadata":{"name":"l","namespace":"hall","uid":"u-l","resourceVersion":"5","creationTimestamp":"2026-08-20T10:00:00Z"},"spec":{"room":"attic","level":7}}"#;
const RESOURCES: &str = r#"{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[{"name":"lamps","singularName":"lamp","namespaced":true,"kind":"Lamp","verbs":["list"],"shortNames":["lp"],"categories":["light"]}]}"#;
const DEFINITION: &str = r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"lamps.example.com","uid":"u-c","resourceVersion":"4"},"spec":{"scope":"Namespaced","names":{"kind":"Lamp","plural":"lamps","singular":"lamp","shortNames":["lp"]},"versions":[{"name":"v1","served":true,"additionalPrinterColumns":[{"name":"Room","type":"string","jsonPath":".spec.room"},{"name":"Level","type":"integer","jsonPath":".spec.level","priority":1}]}]}}"#;
const LAMPS: &str = "/apis/example.com/v1/lamps";

/// Heading and cells of the first row.
fn table(site: &Site) -> (Vec<String>, Value) {
    let answer = site.ask("GET", LAMPS, TABLE).unwrap();
    let mut table = parsed(&answer);
    let columns = table["columnDefinitions"].as_array().unwrap().iter();
    let names = columns.map(|column| column["name"].as_str().unwrap().to_owned());
    (names.collect(), table["rows"][0]["cells"].take())
}

#[test]
fn columns_are_learned_and_kept_and_the_settings_win() {
    let folder = tempfile::tempdir().unwrap();
    let answer = |body: &str| Play::Whole(200, "", body.to_owned());
    let replay = Replay::start(vec![
        (
            "customresourcedefinitions/lamps.example.com",
            answer(DEFINITION),
        ),
        (
            "sendInitialEvents",
            Play::Stream(vec![event("ADDED", LAMP), bookmark(9, true)]),
        ),
        ("/apis/example.com/v1", answer(RESOURCES)),
    ]);
    let upstream = format!("url = \"http://127.0.0.1:{}\"", replay.port);
    let watch = "resource = \"lamps.example.com\"\nversion = \"v1\"";
    let site = Site::new(folder.path(), &upstream, watch);
    let relay = site.run();
    site.until_listed(LAMPS, 1);
    let learned = (
        vec!["Name".to_owned(), "Room".to_owned(), "Level".to_owned()],
        serde_json::json!(["l", "attic", 7]),
    );
    assert_eq!(table(&site), learned);
    let resources = parsed(&site.get("/apis/example.com/v1").unwrap());
    assert_eq!(
        resources["resources"][0]["shortNames"],
        serde_json::json!(["lp"])
    );
    let files = ["lamps.example.com.kind", "lamps.example.com.image"];
    until("it is on disk", || {
        let written = |name: &&str| std::fs::read(site.folder.join("state").join(name)).is_ok();
        files.iter().all(written).then_some(())
    });
    until("the image has it", || {
        let bytes = std::fs::read(site.folder.join("state").join(files[1])).ok()?;
        bytes.windows(3).any(|part| part == b"u-l").then_some(())
    });
    relay.kill();
    // Upstream has nothing to say from now on.
    let relay = site.run();
    site.until_listed(LAMPS, 1);
    assert_eq!(table(&site), learned);
    relay.kill();
    site.set(
        "version = \"v1\"\n",
        "version = \"v1\"\ncolumns = [{ name = \"Bright\", path = \".spec.level\", type = \"number\" }]\n",
    );
    let _relay = site.run();
    site.until_listed(LAMPS, 1);
    let (names, cells) = table(&site);
    assert_eq!(
        (names, cells),
        (
            vec!["Name".to_owned(), "Bright".to_owned()],
            serde_json::json!(["l", 7])
        )
    );
}

/// A relay of definitions needs nobody to tell it of them: behind a node link nobody could.
#[test]
fn columns_are_those_of_a_definition_that_is_relayed() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(vec![
        (
            "customresourcedefinitions?",
            Play::Stream(vec![event("ADDED", DEFINITION), bookmark(9, true)]),
        ),
        (
            "sendInitialEvents",
            Play::Stream(vec![event("ADDED", LAMP), bookmark(9, true)]),
        ),
    ]);
    let upstream = format!("url = \"http://127.0.0.1:{}\"", replay.port);
    let watch = "resource = \"lamps.example.com\"\nversion = \"v1\"\n[[watch]]\nresource = \"customresourcedefinitions.apiextensions.k8s.io\"\nversion = \"v1\"";
    let site = Site::new(folder.path(), &upstream, watch);
    let _relay = site.run();
    site.until_listed(LAMPS, 1);
    site.until_listed("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", 1);
    let (names, cells) = table(&site);
    assert_eq!(names, ["Name", "Room", "Level"]);
    assert_eq!(cells, serde_json::json!(["l", "attic", 7]));
}
