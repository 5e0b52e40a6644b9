//! Several servers that are one store.

use std::thread;
use std::time::Instant;

use super::ports::Ports;
use super::{Gateway, LOOK, READY, Server, Version};

/// A cluster. Members are named by their place, from 0.
#[derive(Debug)]
pub struct Cluster {
    members: Vec<Server>,
}

impl Cluster {
    /// Starts `size` members and waits until all serve.
    pub fn start(version: Version, size: usize) -> Self {
        let ports: Vec<_> = (0..size).map(|_| Ports::free()).collect();
        let peers: Vec<_> = ports
            .iter()
            .enumerate()
            .map(|(n, ports)| format!("member{n}={}", ports.peer_url()))
            .collect();
        let peers = peers.join(",");
        let mut members: Vec<_> = ports
            .into_iter()
            .enumerate()
            .map(|(n, ports)| Server::new(version, &format!("member{n}"), &peers, ports, None))
            .collect();
        // None serves before most are there.
        members.iter_mut().for_each(Server::spawn);
        members.iter_mut().for_each(Server::wait_until_ready);
        Self { members }
    }

    /// Where clients connect: every member.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(Server::endpoint).collect()
    }

    /// Another way in, to one member.
    pub fn gateway(&self, member: usize) -> Gateway {
        self.members[member].gateway()
    }

    /// Ends a member as a power failure would.
    pub fn kill_hard(&mut self, member: usize) {
        self.members[member].kill_hard();
    }

    /// Starts a member again and waits until it serves.
    pub fn restart(&mut self, member: usize) {
        self.members[member].restart();
    }

    /// The leader, as soon as a running member knows one that runs.
    pub fn leader(&self) -> usize {
        let started = Instant::now();
        loop {
            let known: Vec<_> = self
                .members
                .iter()
                .map(|member| {
                    member
                        .child
                        .as_ref()
                        .and(member.gateway().member_and_leader())
                })
                .collect();
            let leader = known.iter().flatten().find_map(|(_, leader)| {
                let of = |member: &Option<(String, String)>| {
                    member.as_ref().is_some_and(|(id, _)| id == leader)
                };
                known.iter().position(of)
            });
            if let Some(leader) = leader {
                return leader;
            }
            assert!(started.elapsed() < READY, "no leader: {known:?}");
            thread::sleep(LOOK);
        }
    }
}
