//! Nodes on emulated microcontrollers, watching the server's program over an emulated network.
//!
//! Nothing is mocked: the server is the program as a user starts it, objects are written by `kubectl`, the node is the image that would be flashed, sealed with its
//! own key. What the firmware prints is compared with what the API has, line by line and by the digest.

mod board;
#[path = "../journeys/program.rs"]
#[allow(dead_code, reason = "journeys use more of it")]
mod program;
mod site;

use std::time::Duration;

use board::{AN385, AN386, RISCV};
use site::Site;

/// Longer than anything here should take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(90);

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

#[test]
fn an_image_without_settings_says_so() {
    let mut node = board::Node::boot(&AN385, &AN385.image());
    node.until("the image has no settings");
}
