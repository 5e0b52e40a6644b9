//! The relay's HTTP side: what reads from the server reads from a relay behind it, and goes on when the server is gone.
//!
//! The journeys themselves are those of the server: see `readings!` and `watchings!` in `kubectl`, `kube_rs` and `suites`. Here is the relay that they run
//! on, and what only a relay has.

use std::fs;
use std::net::{SocketAddr, TcpListener};
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
use crate::kubectl::{Client, Terminal, User};
use crate::program::Program;
use crate::store::{Site, Store};

/// How many changes a relay remembers of each resource: more than a journey that goes back needs, and few enough to be forgotten in one.
const CHANGES: usize = 200;
/// All that journeys read of every server.
const RESOURCES: [&str; 14] = [
    "configmaps",
    "namespaces",
    "secrets",
    "events",
    "nodes",
    "pods",
    "podtemplates",
    "services",
    "deployments.apps",
    "cronjobs.batch",
    "jobs.batch",
    "leases.coordination.k8s.io",
    "events.events.k8s.io",
    "ingresses.networking.k8s.io",
];
/// And of a kind that some define.
const DEVICES: &str = "devices.ringwatch.dev";

/// A relay behind a server.
pub(crate) struct Relay {
    folder: Folder,
    port: u16,
    child: Option<Child>,
}

impl Relay {
    /// A relay of these resources.
    pub(crate) fn start(server: &Program, resources: &[&str]) -> Self {
        let folder = Folder::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let watches: String = resources
            .iter()
            .map(|resource| format!("[[watch]]\nresource = \"{resource}\"\nchanges = {CHANGES}\n"))
            .collect();
        let settings = format!(
            "[upstream]\nkubeconfig = \"{}\"\n{watches}[listen]\nhttp = \"127.0.0.1:{port}\"\n[state]\ndir = \"state\"\nflush-ms = 20\n",
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

    /// A relay of all that journeys read of every server.
    pub(crate) fn of_everything(server: &Program) -> Self {
        Self::start(server, &RESOURCES)
    }

    /// Waits until it has something to serve of each resource.
    pub(crate) async fn until_ready(&self) {
        let begun = Instant::now();
        let client = self.client();
        let ready = || {
            http::Request::get("/readyz")
                .body(Vec::new())
                .expect("a request")
        };
        while client.request_text(ready()).await.is_err() {
            assert!(begun.elapsed() < PATIENCE, "it is not ready");
        }
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

    /// Has it end by itself, with all of its state on its disk.
    fn stop(&mut self) {
        let mut child = self.child.take().expect("it runs");
        let asked = Command::new("kill").arg(child.id().to_string()).status();
        assert!(asked.is_ok_and(|asked| asked.success()));
        child.wait().expect("an end");
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

    /// Where it listens for HTTP.
    pub(crate) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// A terminal whose `kubectl` asks the relay, and cannot ask the server.
    fn terminal(&self, client: Client) -> Terminal {
        let file = self.folder.path().join("kubeconfig");
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: relay, clusters: [{{name: relay, cluster: {{server: \"http://{}\"}}}}], contexts: [{{name: relay, context: {{cluster: relay, user: relay}}}}], users: [{{name: relay, user: {{}}}}]}}\n",
            self.address()
        );
        fs::write(&file, text).expect("a kubeconfig");
        Terminal::new(client, file)
    }

    fn client(&self) -> KubeClient {
        let url = format!("http://{}", self.address());
        let config = Config::new(url.parse().expect("a URL"));
        KubeClient::try_from(config).expect("a client")
    }

    /// The config maps of the namespace `default`.
    pub(crate) fn api(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client(), "default")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.kill_hard();
    }
}

/// Waits until a relay shows all that the server does.
fn until_in_step(user: &User, at: &Terminal, resources: &[&str]) {
    let line = format!(
        "get {} -A -o jsonpath={{range.items[*]}}{{.metadata.uid}}/{{.metadata.resourceVersion}}{{\"\\n\"}}{{end}}",
        resources.join(",")
    );
    let wanted = user.run(&line);
    let begun = Instant::now();
    loop {
        let shown = at.eventually(&line);
        if shown == wanted {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{shown}\nis not\n{wanted}");
    }
}

/// What is read, read on a relay: while the server is there, without it, and by a relay that was started without it.
pub(crate) fn read_alone(client: Client, written: fn(&User), read: fn(&Terminal)) {
    let mut user = User::new(client, Store::Embedded);
    written(&user);
    let devices = user.run("api-resources --api-group=ringwatch.dev -o name");
    let own = Some(DEVICES).filter(|_| !devices.is_empty());
    let resources: Vec<&str> = RESOURCES.into_iter().chain(own).collect();
    let mut relay = Relay::start(&user.site.program, &resources);
    let at = relay.terminal(client);
    at.eventually("get --raw /readyz");
    until_in_step(&user, &at, &resources);
    read(&at);
    user.site.program.kill_hard();
    read(&at);
    relay.stop();
    relay.restart();
    at.eventually("get --raw /readyz");
    read(&at);
    let complaint = at.fail("delete ns default");
    assert!(complaint.contains("read-only"), "{complaint}");
}

/// What is read while others write, read on a relay.
pub(crate) fn read_along(client: Client, journey: fn(&User, &Terminal)) {
    let user = User::new(client, Store::Embedded);
    let resources: Vec<&str> = RESOURCES.into_iter().chain([DEVICES]).collect();
    let relay = Relay::start(&user.site.program, &resources);
    let at = relay.terminal(client);
    // Not before all has come, and there may be kinds that are yet to be defined.
    at.eventually("get cm -A");
    journey(&user, &at);
}

/// A reflector keeps up, through the end of the relay and of the server.
#[tokio::test]
async fn a_reflector_goes_on_through_every_end() {
    let mut site = Site::start(Store::Embedded);
    let server = config_maps(&site.program).await;
    create(&server, "a", "0").await;
    let mut relay = Relay::start(&site.program, &["configmaps"]);
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
