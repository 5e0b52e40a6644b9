//! Selectors, paths, methods, forms of answers, and writes.

use crate::server::Server;
use crate::steps;

#[test]
fn reads_are_answered_as_the_table_says() {
    let server = Server::start(&[]);
    steps::take(&server, include_str!("../golden/api/reads.txt"), 60, |_| {});
}

#[test]
fn kinds_are_defined_and_served_as_the_table_says() {
    let server = Server::start(&[]);
    steps::take(&server, include_str!("../golden/api/kinds.txt"), 80, |_| {});
}

#[test]
fn writes_are_answered_as_the_table_says() {
    let server = Server::start(&[]);
    steps::take(
        &server,
        include_str!("../golden/api/writes.txt"),
        60,
        |_| {},
    );
}

#[test]
fn edges_of_paths_parameters_and_forms_are_as_the_table_says() {
    let server = Server::start(&[]);
    steps::take(&server, include_str!("../golden/api/forms.txt"), 50, |_| {});
}

#[test]
fn deletions_go_as_the_table_says() {
    let server = Server::start(&[]);
    let table = include_str!("../golden/api/deletes.txt");
    steps::take(&server, table, 60, |_| {});
}
