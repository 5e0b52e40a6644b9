//! The relay's HTTP side: kubectl and kube-rs read from it what they read from the server, and go on when the server is gone.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use futures_util::pin_mut;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, reflector};
use kube::{Api, Client as KubeClient, Config};
use ringwatch_tests::etcd::Folder;
use ringwatch_tests::programs::executable;

use crate::PATIENCE;
use crate::kube_rs::{change, config_maps, create, delete, next};
use crate::kubectl::{Client, User};
use crate::program::Program;
use crate::store::{Site, Store};

/// A relay of config maps, behind a server.
struct Relay {
    folder: Folder,
    port: u16,
    child: Option<Child>,
}

impl Relay {
    fn start(server: &Program) -> Self {
        let folder = Folder::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let settings = format!(
            "[upstream]\nkubeconfig = \"{}\"\n[[watch]]\nresource = \"configmaps\"\n[listen]\nhttp = \"127.0.0.1:{port}\"\n[state]\ndir = \"state\"\nflush-ms = 20\n",
            server.kubeconfig().display()
        );
        fs::write(folder.path().join("relay.toml"), settings).expect("settings");
        drop(listener);
        let mut relay = Self {
            folder,
            port,
            child: None,
        };
        relay.restart();
        relay
    }

    /// Ends it without warning, if it runs, and starts it again on its state and its port.
    fn restart(&mut self) {
        self.kill_hard();
        let child = Command::new(executable("ringwatch-edge"))
            .arg("run")
            .arg(self.folder.path().join("relay.toml"))
            .stdin(Stdio::null())
            .spawn();
        self.child = Some(child.expect("the relay's program"));
    }

    fn kill_hard(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits until what is on its disk has this object: a moment later than clients, and what is not there is forgotten with a restart.
    fn until_saved(&self, name: &str) {
        let image = self.folder.path().join("state/configmaps.image");
        let object = format!("\"name\":\"{name}\"");
        let begun = Instant::now();
        loop {
            let saved = fs::read(&image).unwrap_or_default();
            if saved
                .windows(object.len())
                .any(|part| part == object.as_bytes())
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{name} is not saved");
            std::thread::yield_now();
        }
    }

    /// A line for kubectl that goes to the relay.
    fn line(&self, line: &str) -> String {
        format!("-s http://127.0.0.1:{} {line}", self.port)
    }

    fn api(&self) -> Api<ConfigMap> {
        let url = format!("http://127.0.0.1:{}", self.port);
        let config = Config::new(url.parse().expect("a URL"));
        let client = KubeClient::try_from(config).expect("a client");
        Api::namespaced(client, "default")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.kill_hard();
    }
}

#[test]
fn by_an_old_kubectl() {
    by_kubectl(Client::Old);
}

#[test]
fn by_a_new_kubectl() {
    by_kubectl(Client::New);
}

fn by_kubectl(client: Client) {
    let mut user = User::new(client, Store::Embedded);
    let mut relay = Relay::start(&user.site.program);
    user.run("create ns one");
    for (name, namespace, level) in [
        ("a", "default", "low"),
        ("b", "default", "high"),
        ("c", "one", "high"),
    ] {
        user.run(&format!(
            "create cm {name} -n {namespace} --from-literal=k=v"
        ));
        user.run(&format!("label cm {name} -n {namespace} level={level}"));
    }
    user.eventually(&relay.line("get --raw /readyz"));
    until_listed(&user, &relay, "get cm -A -l level -o name", 3);
    reads(&user, &relay);

    // What happens is seen by who watches.
    let mut watch = user.follow(&relay.line("get cm -w -o name"));
    let mut table = user.follow(&relay.line("get cm -w"));
    for expected in ["configmap/a", "configmap/b"] {
        assert_eq!(watch.line(), expected);
    }
    for expected in ["NAME", "a", "b"] {
        assert_eq!(table.row()[0], expected);
    }
    user.run("create cm d");
    assert_eq!(watch.line(), "configmap/d");
    assert_eq!(table.row()[0], "d");
    user.run("delete cm d");
    assert_eq!(watch.line(), "configmap/d");
    assert_eq!(table.row()[0], "d");
    drop((watch, table));

    // Without the server, and after a power cut: the same.
    until_listed(&user, &relay, "get cm -A -l level -o name", 3);
    user.site.program.kill_hard();
    reads(&user, &relay);
    relay.restart();
    user.eventually(&relay.line("get --raw /readyz"));
    reads(&user, &relay);
    let complaint = user.fail(&relay.line("delete cm a"));
    assert!(complaint.contains("read-only"), "{complaint}");
    let mut watch = user.follow(&relay.line("get cm -w -o name"));
    assert_eq!(watch.line(), "configmap/a");
}

fn until_listed(user: &User, relay: &Relay, line: &str, count: usize) {
    let begun = Instant::now();
    loop {
        let listed = user.eventually(&relay.line(line));
        if listed.lines().count() == count {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{listed}");
    }
}

/// What is read, whoever is behind it.
fn reads(user: &User, relay: &Relay) {
    let run = |line: &str| user.run(&relay.line(line));
    for (selector, names) in [
        ("", "configmap/a\nconfigmap/b\n"),
        ("-l level=high", "configmap/b\n"),
        ("-l 'level in (low,high)'", "configmap/a\nconfigmap/b\n"),
        ("-A -l level=high", "configmap/b\nconfigmap/c\n"),
        ("--field-selector metadata.name=a", "configmap/a\n"),
        ("--chunk-size=1", "configmap/a\nconfigmap/b\n"),
    ] {
        assert_eq!(
            run(&format!("get cm {selector} -o name")),
            names,
            "{selector}"
        );
    }
    let rows = user.table(&relay.line("get cm -L level"));
    let cells: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
    assert!(cells[0].starts_with("NAME") && cells[0].ends_with("LEVEL"));
    assert!(
        cells[1].starts_with("a") && cells[1].ends_with("low"),
        "{cells:?}"
    );
    assert_eq!(run("get cm a -o jsonpath={.data.k}"), "v");
    let missing = user.fail(&relay.line("get cm nothing"));
    assert!(
        missing.contains("configmaps \"nothing\" not found"),
        "{missing}"
    );
    let known = user.table(&relay.line("api-resources"));
    let row = ["configmaps", "cm", "v1", "true", "ConfigMap"];
    assert!(known.iter().any(|known| *known == row), "{known:?}");
    assert_eq!(run("api-versions"), "v1\n");
}

/// A reflector keeps up, through the end of the relay and of the server.
#[tokio::test]
async fn by_kube_rs() {
    let mut site = Site::start(Store::Embedded);
    let server = config_maps(&site.program).await;
    create(&server, "a", "0").await;
    let mut relay = Relay::start(&site.program);
    let (store, writer) = reflector::store();
    let stream = watcher(relay.api(), watcher::Config::default()).default_backoff();
    let stream = reflector(writer, stream);
    let stream = futures_util::StreamExt::filter(stream, |event| {
        // The relay is not there, or has nothing yet.
        let good = event.is_ok();
        async move { good }
    });
    pin_mut!(stream);
    // While the relay has no list yet there may be several beginnings.
    while next(&mut stream).await != "init done" {}
    create(&server, "b", "1").await;
    assert_eq!(next(&mut stream).await, "apply b=1");
    // It goes on from its revision: no beginning.
    relay.until_saved("b");
    relay.restart();
    change(&server, "a", "2").await;
    assert_eq!(next(&mut stream).await, "apply a=2");
    delete(&server, "b").await;
    assert_eq!(next(&mut stream).await, "delete b=1");
    site.program.kill_hard();
    assert_eq!(store.state().len(), 1);
    // Who begins now is told what is there.
    let offline = watcher(relay.api(), watcher::Config::default());
    pin_mut!(offline);
    for event in ["init", "init a=2", "init done"] {
        assert_eq!(next(&mut offline).await, event);
    }
}
