//! Input that nobody would send by accident: refused by its name, or the connection ends; the server stays well, and its
//! memory returns to where it was.

#[path = "hostile/connections.rs"]
mod connections;
#[path = "hostile/http2.rs"]
mod http2;
#[path = "hostile/memory.rs"]
pub(crate) mod memory;

use crate::names::Names;
use crate::rows;
use crate::server::Server;
use crate::steps;

/// Shorter than the defaults, so that the tests need not wait as long.
const SHORT: [&str; 8] = [
    "--header-timeout=1s",
    "--handshake-timeout=1s",
    "--idle-timeout=3s",
    "--request-timeout=2s",
    "--max-requests-inflight=400",
    "--max-mutating-requests-inflight=200",
    "--http2-max-streams-per-connection=250",
    "--http2-max-resets=100",
];

#[test]
fn hostile_input_is_refused_and_nothing_else_happens() {
    let server = Server::start(&[]);
    memory::returns(&server, || {
        let table = include_str!("../golden/api/hostile.txt");
        steps::take(&server, table, 80, |request| {
            let alive = server.get("/livez").status;
            assert_eq!(alive, 200, "after {request}");
        });
    });
}

#[test]
fn connections_that_lead_nowhere_are_ended() {
    let server = Server::start(&SHORT);
    let rows = rows::rows(include_str!("../golden/api/connections.txt"), 70);
    memory::returns(&server, || {
        rows::check(&rows, &Names::default(), |row| {
            connections::act(&server, row)
        });
    });
}

#[test]
fn floods_of_frames_are_bounded() {
    let server = Server::start(&SHORT);
    let rows = rows::rows(include_str!("../golden/api/http2.txt"), 30);
    memory::returns(&server, || {
        rows::check(&rows, &Names::default(), |row| http2::act(&server, row));
    });
}

#[test]
fn a_crowd_that_never_asks_is_sent_away() {
    /// Fewer than a process may have files open.
    const CROWD: usize = 400;
    let server = Server::start(&SHORT);
    // As much of a head as is taken, and never its end.
    let head = format!(
        "GET /livez HTTP/1.1\\r\\nhost: localhost\\r\\nx: {}",
        "a".repeat(30_000)
    );
    let manners = ["plain: ", "tls: ", &format!("plain: {head}")];
    memory::returns(&server, || {
        std::thread::scope(|scope| {
            for number in 0..CROWD {
                let (server, manner) = (&server, manners[number % manners.len()]);
                scope.spawn(move || assert_eq!(connections::act(server, manner), "closed"));
            }
            // Others are served meanwhile.
            for _ in 0..20 {
                assert_eq!(server.get("/api/v1/namespaces").status, 200);
            }
        });
    });
}
