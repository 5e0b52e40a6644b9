//! `get -w`, `get --watch-only` and both for a single object.

use crate::kubectl::{Terminal, User, watchings};

watchings!(a_list, only_changes, one_object, whole_objects);

fn a_list(user: &User, at: &Terminal) {
    user.run("create cm a");
    let mut watch = at.follow("get cm -w");
    assert_eq!(watch.row(), ["NAME", "DATA"]);
    assert_eq!(watch.row(), ["a", "0"]);
    user.run("create cm b --from-literal=k=v");
    assert_eq!(watch.row(), ["b", "1"]);
    user.run(r#"patch cm a --type merge -p {"data":{"x":"1","y":"2"}}"#);
    assert_eq!(watch.row(), ["a", "2"]);
    user.run("delete cm b");
    assert_eq!(watch.row(), ["b", "1"]);
    user.run("create ns other");
    user.run("create cm elsewhere -n other");
    user.run("create cm last");
    assert_eq!(
        watch.row(),
        ["last", "0"],
        "another namespace is not watched"
    );
}

fn only_changes(user: &User, at: &Terminal) {
    user.run("create cm old");
    let mut watch = at.follow("get cm --watch-only --output-watch-events -l watched=yes");
    at.until_watched(1);
    user.run("create cm a");
    user.run("label cm a watched=yes");
    assert_eq!(watch.row(), ["EVENT", "NAME", "DATA"]);
    assert_eq!(watch.row(), ["ADDED", "a", "0"]);
    // Leaving the selection is an end, coming back a beginning.
    user.run("label cm a watched-");
    assert_eq!(watch.row(), ["DELETED", "a", "0"]);
    user.run("label cm a watched=yes");
    assert_eq!(watch.row(), ["ADDED", "a", "0"]);
    user.run("delete cm old");
    user.run("delete cm a");
    assert_eq!(watch.row(), ["DELETED", "a", "0"]);
}

fn one_object(user: &User, at: &Terminal) {
    user.run("create cm a");
    user.run("create cm b");
    at.eventually("get cm a");
    let mut watch = at.follow("get cm a -w");
    assert_eq!(watch.row(), ["NAME", "DATA"]);
    assert_eq!(watch.row(), ["a", "0"]);
    user.run(r#"patch cm b --type merge -p {"data":{"x":"1"}}"#);
    user.run(r#"patch cm a --type merge -p {"data":{"x":"1"}}"#);
    // A watch that begins at any revision may say once more what there was.
    let row = std::iter::repeat_with(|| watch.row()).find(|row| row[1] != "0");
    assert_eq!(row.unwrap(), ["a", "1"]);
    user.run("delete cm a");
    assert_eq!(watch.row(), ["a", "1"]);
}

fn whole_objects(user: &User, at: &Terminal) {
    user.run("create cm a");
    let mut watch = at.follow("get cm -w -o name");
    assert_eq!(watch.line(), "configmap/a");
    user.run("create cm b");
    assert_eq!(watch.line(), "configmap/b");
}
