//! Nodes on emulated microcontrollers, watching the server's program over an emulated network.
//!
//! Nothing is mocked: the server is the program as a user starts it, objects are written by `kubectl`, the node is the image that would be flashed, sealed with its
//! own key. What the firmware prints is compared with what the API has, line by line and by the digest.

mod asleep;
#[allow(dead_code, reason = "the bench asks it more")]
mod board;
#[path = "../../../server/benches/cache/cpu.rs"]
mod cpu;
mod given;
mod host;
#[path = "../relay/http.rs"]
mod http;
#[path = "../journeys/program.rs"]
#[allow(dead_code, reason = "journeys use more of it")]
mod program;
#[path = "../relay/programs.rs"]
#[allow(dead_code, reason = "the relay's own tests use more of it")]
mod programs;
mod said;
mod site;
mod soak;
mod writer;

use board::{AN385, AN386, BREAKING, BREAKING_RISCV, RISCV};
use given::simulated;
use site::Site;

#[test]
fn a_cortex_m3_sees_what_kubectl_wrote() {
    sees_what_kubectl_wrote(&AN385);
}

#[test]
fn a_cortex_m4f_sees_what_kubectl_wrote() {
    sees_what_kubectl_wrote(&AN386);
}

#[test]
fn a_riscv_sees_what_kubectl_wrote() {
    sees_what_kubectl_wrote(&RISCV);
}

fn sees_what_kubectl_wrote(machine: &board::Machine) {
    let site = Site::start("everything");
    site.write("boiler", 68, "auto");
    let mut node = site.boot(machine);
    node.until("restored nothing");
    node.until("watch begins: snapshot");
    node.until("set default/boiler 68 auto default");
    node.until(&site.in_step());

    site.write("boiler", 70, "auto");
    node.until("set default/boiler 70 auto default");
    site.write("chiller", 4, "hold");
    node.until("set default/chiller 4 hold default");
    node.until(&site.in_step());
    site.delete("boiler");
    node.until("unset default/boiler");
    node.until(&site.in_step());
}

#[test]
fn a_network_that_was_cut_is_gone_on_from() {
    let site = Site::start("cut");
    site.write("boiler", 20, "auto");
    let mut node = site.boot(&AN385);
    node.until(&site.in_step());

    node.cut();
    site.write("boiler", 21, "auto");
    site.write("chiller", 5, "auto");
    node.until("link lost");
    node.mend();
    // Where it was: no snapshot.
    node.until("watch begins: resumed");
    node.until("set default/boiler 21 auto default");
    node.until(&site.in_step());
}

#[test]
fn a_reset_goes_on_from_the_cursor_in_flash() {
    goes_on_after_a_reset(&AN385);
}

#[test]
fn a_reset_of_a_riscv_goes_on_from_the_cursor_in_flash() {
    goes_on_after_a_reset(&RISCV);
}

fn goes_on_after_a_reset(machine: &board::Machine) {
    let site = Site::start("reset");
    site.write("boiler", 30, "auto");
    site.write("chiller", 6, "auto");
    let mut node = site.boot(machine);
    node.until("boot 1");
    let at = site.in_step();
    node.until(&at);
    node.until("saved at");

    node.reset();
    node.until("boot 2");
    // Outputs are what they were before there is a network.
    node.until("set default/boiler 30 auto default");
    node.until("set default/chiller 6 auto default");
    node.until("restored 2 devices at");
    node.until("watch begins: resumed");
    site.write("boiler", 31, "auto");
    node.until("set default/boiler 31 auto default");
    node.until(&site.in_step());
}

#[test]
fn a_key_that_was_revoked_is_refused() {
    let site = Site::start("revoked");
    site.write("boiler", 40, "auto");
    let mut node = site.boot(&AN385);
    node.until(&site.in_step());
    site.revoke();
    node.until("link lost: ended by the peer: revoked");
    node.until("link lost: refused: refused");
    site.write("boiler", 41, "auto");
    site.admit();
    node.until("watch begins: resumed");
    node.until("set default/boiler 41 auto default");
}

/// A board that panics, runs out of stack or does nothing any more is a working node again, and whoever looks after it hears why: at its relay, and at the server.
#[test]
fn why_a_board_has_restarted_is_reported_upstream() {
    why_it_has_restarted_is_reported(&BREAKING, &[PANIC, STACK, WATCHDOG]);
}

#[test]
fn why_a_riscv_has_restarted_is_reported_upstream() {
    why_it_has_restarted_is_reported(&BREAKING_RISCV, &[PANIC, STACK]);
}

/// A setpoint that breaks a board, the cause that is counted, and what is said of it.
type Break = (u32, &'static str, &'static str);

const PANIC: Break = (1001, "panic", "panicked at");
const STACK: Break = (1002, "stack", "the stack was too deep");
const WATCHDOG: Break = (1003, "watchdog", "8 s of nothing");

fn why_it_has_restarted_is_reported(machine: &board::Machine, breaks: &[Break]) {
    let site = Site::start("gateway");
    site.write("boiler", 1, "auto");
    let (mut relay, port) = site.boot_relay(&AN385, &["heater"]);
    let mut node = site.boot_at(machine, "heater", port);
    node.until(&site.in_step());
    for (boot, &(setpoint, cause, why)) in (2..).zip(breaks) {
        assert_eq!(site.restarts(cause), 0);
        site.write("boiler", setpoint, "auto");
        node.until(&format!("node heater, boot {boot}"));
        node.until(&format!("restarted after {why}"));
        node.until(&format!("set default/boiler {setpoint} auto default"));
        node.until("the restart is noted upstream");
        relay.until(&format!("node heater restarted after {why}"));
        programs::until("the server counts it", || {
            (site.restarts(cause) == 1).then_some(())
        });
        // It works as before. What it saves now is what it begins with after the next restart.
        site.write("boiler", boot, "auto");
        node.until(&format!("set default/boiler {boot} auto default"));
        node.until(&site.in_step());
        node.until("saved at");
    }
}

#[test]
fn an_image_without_settings_says_so() {
    let mut node = board::Node::boot(&AN385, &AN385.node(), None);
    node.until("the image has no settings");
}

#[test]
fn a_cortex_m3_behind_a_relay_sees_what_kubectl_wrote() {
    behind_a_relay(&AN385);
}

#[test]
fn a_riscv_behind_a_relay_sees_what_kubectl_wrote() {
    behind_a_relay(&RISCV);
}

fn behind_a_relay(machine: &board::Machine) {
    let site = Site::start("gateway");
    site.write("boiler", 50, "auto");
    let relay = site.start_relay("heater");
    let mut node = site.boot_at(machine, "heater", relay.link);
    node.until("set default/boiler 50 auto default");
    node.until(&site.in_step());
    site.write("boiler", 51, "hold");
    node.until("set default/boiler 51 hold default");
    node.until(&site.in_step());
}

/// Server, relay on a Cortex-M3, and four nodes: two on boards, two simulated; all links sealed.
#[test]
fn a_relay_on_a_cortex_m3_serves_four_nodes() {
    relays_on(&AN385);
}

#[test]
fn a_relay_on_a_riscv_serves_four_nodes() {
    relays_on(&RISCV);
}

fn relays_on(machine: &board::Machine) {
    let site = Site::start("gateway");
    site.write("boiler", 60, "auto");
    let simulated = simulated("many", 2);
    let known = simulated.iter().map(String::as_str);
    let known: Vec<_> = ["one", "two"].into_iter().chain(known).collect();
    let (mut relay, port) = site.boot_relay(machine, &known);
    relay.until(&site.relay_in_step());
    let mut boards =
        [("one", &AN385), ("two", &RISCV)].map(|(name, machine)| site.boot_at(machine, name, port));
    let many = site.simulate("many", 2, port);
    let mut everybody_has = |setpoint: &str| {
        for node in &mut boards {
            node.until(setpoint);
            node.until(&site.in_step());
        }
        let expected = site.simulated_in_step();
        programs::until("the simulated nodes are in step", || {
            let last = many.last.lock().expect("not poisoned");
            let all = last.len() == 2 && last.values().all(|line| line.contains(&expected));
            all.then_some(())
        });
    };
    everybody_has("set default/boiler 60 auto default");
    site.write("boiler", 61, "hold");
    everybody_has("set default/boiler 61 hold default");

    // While the relay is cut off its nodes stay; then they get what was missed.
    relay.cut();
    site.write("boiler", 62, "auto");
    relay.until("link lost");
    relay.mend();
    everybody_has("set default/boiler 62 auto default");

    // The relay's memory is gone, the nodes' cursors are not.
    relay.reset();
    relay.until("boot 2");
    site.write("chiller", 7, "auto");
    everybody_has("set default/chiller 7 auto default");

    // A key that is no longer good upstream: refused, until it is again.
    site.revoke();
    relay.until("link lost: refused: refused");
    site.write("boiler", 63, "auto");
    site.admit();
    everybody_has("set default/boiler 63 auto default");

    // Nobody whom the relay does not know comes in.
    let mut stranger = site.boot_at(&AN385, "stranger", port);
    stranger.until("link lost: refused: refused");
}

#[test]
fn a_relay_on_a_cortex_m3_serves_all_its_nodes_at_once() {
    serves_all_at_once(&AN385);
}

#[test]
fn a_relay_on_a_cortex_m4f_serves_all_its_nodes_at_once() {
    serves_all_at_once(&AN386);
}

/// As many nodes as a relay can know are connected, and each has everything: also when all of them come back at once.
fn serves_all_at_once(machine: &board::Machine) {
    // `MAX_NODES` in boards/settings.
    const NODES: usize = 32;
    let site = Site::start("gateway");
    site.write_many(15, 1);
    let names = simulated("many", NODES);
    let known: Vec<_> = names.iter().map(String::as_str).collect();
    let (mut relay, port) = site.boot_relay(machine, &known);
    relay.until(&site.relay_in_step());
    let many = site.simulate("many", NODES, port);
    let everybody_is_in_step = || {
        let expected = site.simulated_in_step();
        programs::until("all nodes are in step", || {
            let last = many.last.lock().expect("not poisoned");
            let all = last.len() == NODES && last.values().all(|line| line.contains(&expected));
            all.then_some(())
        });
    };
    everybody_is_in_step();
    let left = relay.count("has left");
    for round in 2..=4 {
        site.write_many(15, round);
        everybody_is_in_step();
    }
    // Nobody has made room for another: they are here at once.
    assert_eq!(relay.count("has left"), left);
    relay.reset();
    relay.until("boot 2");
    site.write_many(15, 5);
    everybody_is_in_step();
}

/// More happens while a node is cut off than the relay remembers: only what differs is sent.
#[test]
fn a_node_that_missed_more_than_a_relay_remembers_is_repaired() {
    const LAMPS: u32 = 15;
    // 256 are remembered.
    const ROUNDS: u32 = 18;
    let site = Site::start("gateway");
    site.write("boiler", 1, "hold");
    let (mut relay, port) = site.boot_relay(&AN385, &["lamps"]);
    let mut node = site.boot_at(&AN385, "lamps", port);
    node.until(&site.in_step());
    node.cut();
    (1..=ROUNDS).for_each(|round| site.write_many(LAMPS, round));
    relay.until(&site.relay_in_step());
    node.until("link lost");
    node.mend();
    node.until("watch begins: difference");
    node.until(&format!("set default/lamp-3 {ROUNDS} auto default"));
    node.until(&site.in_step());
}
