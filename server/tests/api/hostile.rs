//! Input that nobody would send by accident.

use crate::server::Server;
use crate::steps;

#[test]
fn hostile_input_is_refused_and_nothing_else_happens() {
    let server = Server::start(&[]);
    steps::take(
        &server,
        include_str!("../golden/api/hostile.txt"),
        40,
        |request| {
            let alive = server.get("/livez").status;
            assert_eq!(alive, 200, "after {request}");
        },
    );
}
