//! The physical limit: a loop that writes the same bytes to the same number of sockets, and does nothing else.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::process::Process;

/// What this program is called with to be the loop.
pub(crate) const NAME: &str = "bare-loop";

/// What the loop writes.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    pub(crate) sockets: usize,
    /// Per write.
    pub(crate) bytes: usize,
    /// To each socket.
    pub(crate) writes: u32,
    pub(crate) per_second: u32,
}

/// CPU time of the loop per write.
pub(crate) async fn measure(work: Work) -> Duration {
    let program = std::env::current_exe().expect("this program");
    let numbers = [work.sockets, work.bytes, work.writes as usize];
    let mut command = Command::new(program);
    command
        .arg(NAME)
        .args(numbers.map(|number| number.to_string()))
        .arg(work.per_second.to_string());
    let mut process = Process::start(&mut command);
    let address = process.line();
    let mut readers = JoinSet::new();
    for _ in 0..work.sockets {
        let stream = TcpStream::connect(&address).await;
        let mut stream = stream.expect("a connection");
        readers.spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        });
    }
    let mut line = || tokio::task::block_in_place(|| process.line());
    assert_eq!(line(), "begin");
    assert_eq!(line(), "end");
    // It looked at its own clock for the writes alone.
    let nanoseconds: u64 = line().parse().expect("nanoseconds");
    let writes = work.sockets as u64 * u64::from(work.writes);
    Duration::from_nanos(nanoseconds / writes)
}

/// Is the loop.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) {
    let mut next = || -> usize {
        let number = arguments.next().expect("a number");
        number.parse().expect("a number")
    };
    let (sockets, bytes, writes, per_second) = (next(), next(), next(), next());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    let mut streams: Vec<_> = (0..sockets)
        .map(|_| listener.accept().expect("a connection").0)
        .collect();
    for stream in &streams {
        stream.set_nodelay(true).expect("a socket");
    }
    println!("begin");
    let piece = vec![b'x'; bytes];
    let before = cpu();
    let began = Instant::now();
    for number in 0..writes as u32 {
        let due = began + Duration::from_secs(1) * number / per_second as u32;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        for stream in &mut streams {
            stream.write_all(&piece).expect("a reader");
        }
    }
    let taken = cpu() - before;
    println!("end\n{}", taken.as_nanos());
}

fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
