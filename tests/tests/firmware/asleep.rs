//! Boards sleep between changes.
//!
//! A board that polls without end keeps a core of this machine busy, by QEMU; one that sleeps takes a twentieth of it at this pace. On a chip it is the power.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use ringwatch_tests::etcd::Folder;

use crate::board::{AN385, RISCV};
use crate::cpu;
use crate::given::{admitted, boot_node, boot_relay};
use crate::programs::Server;
use crate::writer::Writer;

const PER_SECOND: u32 = 50;
const CHANGES: u32 = 150;
/// The share of a core that a board may take. What polls without end takes more even where six others want the same two cores.
const MOST: f64 = 0.25;

#[test]
fn boards_sleep_between_changes() {
    let folder = Folder::new();
    let keys = folder.path().join("nodes.toml");
    fs::write(&keys, admitted("gateway")).expect("a key file");
    let server = Server::start(folder.path(), &keys, None);
    let mut writer = Writer::new(server.http);
    writer.create("boiler", 1);
    let nodes = ["heater", "cooler"];
    let (relay, port) = boot_relay(folder.path(), &AN385, "gateway", server.link, &nodes);
    let [mut heater, mut cooler] = [(&AN385, "heater"), (&RISCV, "cooler")]
        .map(|(machine, name)| boot_node(folder.path(), machine, name, port));
    for node in [&mut heater, &mut cooler] {
        node.until("set default/boiler 1 auto default");
    }

    let boards = [
        ("relay on a Cortex-M3", &relay),
        ("node on a Cortex-M3", &heater),
        ("node on a RISC-V", &cooler),
    ];
    let taken = || boards.map(|(_, board)| cpu::time_of(&board.id().to_string()));
    let (begin, before) = (Instant::now(), taken());
    for number in 1..=CHANGES {
        writer.set("boiler", u64::from(number) + 1);
        // The pace of the writes, not a wait for something.
        let due = begin + Duration::from_secs(1) * number / PER_SECOND;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let (took, after) = (begin.elapsed(), taken());
    for ((what, _), (before, after)) in boards.iter().zip(before.into_iter().zip(after)) {
        let share = (after - before).as_secs_f64() / took.as_secs_f64();
        println!("{what}: {:.0} % of a core", share * 100.0);
        assert!(share > 0.0, "{what}: its QEMU is not seen to run");
        assert!(
            share < MOST,
            "{what} takes {share:.2} of a core at {PER_SECOND} changes/s: it does not sleep"
        );
    }
    for node in [&mut heater, &mut cooler] {
        node.until(&format!("set default/boiler {} auto default", CHANGES + 1));
    }
}
