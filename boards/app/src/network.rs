//! Addresses.

use embassy_net::driver::Driver;
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use ringwatch_settings::{Network, Settings};
use sha2::{Digest, Sha256};

/// The network stack, in these places for sockets. Apart, so that the stack that it takes to make one is not that of everything that runs later.
#[inline(never)]
pub fn start<D: Driver, const N: usize>(
    driver: D,
    settings: &Settings<'_>,
    sockets: &'static mut StackResources<N>,
    seed: u64,
) -> (Stack<'static>, Runner<'static, D>) {
    embassy_net::new(driver, config(settings), sockets, seed)
}

/// What the network stack is told.
fn config(settings: &Settings<'_>) -> Config {
    match settings.network {
        Network::Dhcp => Config::dhcpv4(Default::default()),
        Network::Static {
            address,
            prefix,
            gateway,
        } => Config::ipv4_static(StaticConfigV4 {
            address: Ipv4Cidr::new(address.into(), prefix.min(32)),
            gateway: gateway.map(Ipv4Address::from),
            dns_servers: Default::default(),
        }),
    }
}

/// An Ethernet address for a board that was given none: one that nobody else hands out, from what is different in each chip.
pub fn mac(chip: &[u8]) -> [u8; 6] {
    let hash: [u8; 32] = Sha256::digest(chip).into();
    let [a, b, c, d, e, ..] = hash;
    // Locally administered, and of one station.
    [0x02, a, b, c, d, e]
}

/// Waits for an address, if there is none.
pub async fn up(stack: Stack<'_>) {
    if stack.is_config_up() {
        return;
    }
    stack.wait_config_up().await;
    if let Some(config) = stack.config_v4() {
        log::info!("address {}", config.address);
    }
}
