//! Addresses.

use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Stack, StaticConfigV4};
use ringwatch_settings::{Network, Settings};

/// What the network stack is told.
pub fn config(settings: &Settings<'_>) -> Config {
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
