//! What an operator does with a relay: nodes and their policies, reloads, questions, settings.

use crate::bodies::{bookmark, event, pod, site};
use crate::nodes::Nodes;
use crate::replay::{Play, Replay};
use crate::support::{PATIENCE, program, until};

#[test]
fn nodes_get_what_they_may_and_a_reload_drops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(vec![(
        "sendInitialEvents",
        Play::Stream(vec![
            event("ADDED", &pod("a", 10, "Running")),
            event("ADDED", &pod("b", 11, "Running")),
            bookmark(12, true),
        ]),
    )]);
    let site = site(&folder, &replay);
    let all = site.add("all", "pods");
    let some = site.add("some", "pods");
    let none = site.add("none", "secrets");
    let nodes_file = site.folder.join("nodes.toml");
    let text = std::fs::read_to_string(&nodes_file).unwrap();
    let narrow = |labels: &str| {
        let (before, after) = text.split_once("[\"some\"]").unwrap();
        let line = format!(
            "allow = [{{ resource = \"pods\", labels = \"{labels}\", show = [\"status\"] }}]"
        );
        format!(
            "{before}[\"some\"]{}",
            after.replacen("allow = [\"pods\"]", &line, 1)
        )
    };
    std::fs::write(&nodes_file, narrow("app=a")).unwrap();
    let relay = site.run();
    let all = Nodes::start(&all, "all", &[site.link], &[]);
    let one = Nodes::start(
        &some,
        "some",
        &[site.link],
        &["--show", "status.phase:text(10)"],
    );
    assert!(all.until_at(12).contains("objects 2"));
    assert!(one.until_at(12).contains("objects 1"));
    // Whole objects, and other fields than those it may see, are refused, as is what it may not have at all.
    let refused = [
        Nodes::start(&some, "some", &[site.link], &[]),
        Nodes::start(
            &some,
            "some",
            &[site.link],
            &["--show", "spec.nodeName:text(10)"],
        ),
        Nodes::start(&none, "none", &[site.link], &[]),
    ];
    std::fs::write(&nodes_file, narrow("app in (a,b)")).unwrap();
    relay.signal("HUP");
    until("the difference", || {
        one.lines
            .recv_timeout(PATIENCE)
            .unwrap()
            .contains("objects 2")
            .then_some(())
    });
    for nodes in &refused {
        assert!(nodes.lines.try_recv().is_err());
    }
    drop(refused);
    until("the list of nodes", || {
        let http = format!("127.0.0.1:{}", site.http);
        let listed = program().args(["nodes", "list", "--http", &http]).output();
        let listed = String::from_utf8(listed.ok()?.stdout).ok()?;
        let mut lines = listed.lines();
        lines
            .any(|line| line.starts_with("all ") && line.contains("yes"))
            .then_some(())
    });
    // Without its key it has to go.
    std::fs::write(
        &nodes_file,
        narrow("app=a").replace("[\"all\"]", "[\"other\"]"),
    )
    .unwrap();
    relay.signal("HUP");
    until("revoked", || {
        site.get("/metrics")?
            .body
            .contains("ringwatch_edge_nodes_connected 1\n")
            .then_some(())
    });
}

#[test]
fn what_an_operator_asks_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let replay = Replay::start(Vec::new());
    let site = site(&folder, &replay);
    let key = site.add("dev", "pods");
    let run = |args: &[&str]| {
        let output = program().args(args).current_dir(folder.path()).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    // A key that only its owner can read, and a name that is new.
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(
        std::fs::metadata(key).unwrap().permissions().mode() & 0o077,
        0
    );
    let add = |name| {
        run(&[
            "nodes",
            "add",
            name,
            "--file",
            "nodes.toml",
            "--allow",
            "pods",
        ])
    };
    let (code, said) = add("other");
    assert_eq!(code, Some(0));
    assert!(
        said.contains("To flash:") && said.contains("PresharedKey::new([0x"),
        "{said}"
    );
    assert_eq!(add("other").0, Some(2));
    assert_eq!(run(&["check", "relay.toml"]).0, Some(0));
    // Every bounded structure, and together.
    let (_, table) = run(&["memory", "relay.toml"]);
    let numbers = table.lines().skip(1).map(|line| {
        let last = line.split_whitespace().last().unwrap();
        last.parse::<u64>().unwrap()
    });
    let mut numbers: Vec<u64> = numbers.collect();
    let total = numbers.pop().unwrap();
    assert_eq!(numbers.iter().sum::<u64>(), total, "{table}");
    assert!(numbers.len() >= 7, "{table}");
    let (_, help) = run(&["--help"]);
    for word in [
        "run",
        "check",
        "memory",
        "nodes",
        "node",
        "Examples:",
        "[upstream]",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    // Not ready without anything to serve; a nodes' file that is wrong is named, and the old one stays.
    let relay = site.run();
    assert_eq!(until("an answer", || site.get("/readyz")).status, 503);
    assert_eq!(site.get("/healthz").unwrap().status, 200);
    let nodes = site.folder.join("nodes.toml");
    let good = std::fs::read_to_string(&nodes).unwrap();
    std::fs::write(&nodes, format!("{good}\n[bad]\nkey = \"12\"\nallow = []\n")).unwrap();
    let (code, said) = run(&["check", "relay.toml"]);
    let line = good.lines().count() + 3;
    assert_eq!(code, Some(2));
    assert!(
        said.contains(&format!("nodes.toml:{line}: bad: key: ")),
        "{said}"
    );
    relay.signal("HUP");
    let (_, listed) = run(&[
        "nodes",
        "list",
        "--http",
        &format!("127.0.0.1:{}", site.http),
    ]);
    assert!(
        listed.contains("dev ") && listed.contains("never"),
        "{listed}"
    );
}

#[test]
fn wrong_settings_are_named_by_file_line_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let file = folder.path().join("relay.toml");
        std::fs::write(&file, text).unwrap();
        let output = program().arg("check").arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let words = String::from_utf8(output.stderr).unwrap();
        words
            .trim_end()
            .replace(&format!("{}", file.display()), "FILE")
    };
    let cases = [
        (
            "[upstream]\nlonk = 1\n",
            "error: FILE:2: unknown field `lonk`",
        ),
        (
            "[upstream]\nlink = \"a:1\"\nurl = \"https://b\"\n",
            "error: FILE:1: upstream: give one of link, serial, kubeconfig and url",
        ),
        (
            "[upstream]\nurl = \"http://a\"\n\n[[watch]]\nresource = \"Pods\"\n",
            "error: FILE:4: watch: resource: `Pods` is none",
        ),
        (
            "[upstream]\nurl = \"http://a\"\n[[watch]]\nresource = \"pods\"\nlabels = \"a in b\"\n",
            "error: FILE:3: watch: labels: ",
        ),
        (
            "[upstream]\nurl = \"http://a\"\n[[watch]]\nresource = \"pods\"\n[listen]\nhttp = \"0.0.0.0:80\"\n",
            "error: FILE:6: listen.http: 0.0.0.0:80 can be reached",
        ),
    ];
    for (text, expected) in cases {
        let words = check(text);
        assert!(words.starts_with(expected), "{words}\nis not\n{expected}");
    }
}
