//! Filling the block of an image, from a TOML file:
//!
//! ```toml
//! name = "heater-1"
//! key-file = "heater-1.key"          # 64 hexadecimal digits; relative to this file, and not in git
//! upstream = ["192.168.1.10:6444"]   # up to four
//! silence = "60s"                    # how long the other end may be silent
//! save-every = "10s"                 # flash wears out
//!
//! [network]                          # left out: DHCP
//! address = "192.168.1.20/24"
//! gateway = "192.168.1.1"
//!
//! [wifi]                             # for boards without a wire
//! ssid = "hall"
//! password-file = "hall.wifi.key"    # also not in git
//!
//! [watch]
//! resource = "devices.ringwatch.dev"
//! fields = "spec.site=hall"          # also: namespace, labels, projection
//!
//! [serve]                            # for a relay: its nodes; watch.projection is then what it keeps of each object
//! port = 6444
//! [[serve.node]]                     # up to 32
//! name = "heater-1"
//! key-file = "heater-1.key"
//! namespace = "hall"                 # what it may have; also: labels, fields
//! ```

use std::fmt::{self, Display};
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::block::{BLANK, CRC, HEAD, MARK};
use crate::{Endpoint, Key, Network, Permit, RelaySettings, Settings, Watch, Wifi};

/// Why an image could not be filled: one message for the person at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

fn because(what: impl Display, why: impl Display) -> Failure {
    Failure(format!("{what}: {why}"))
}

/// A settings file, as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct File {
    name: String,
    key_file: PathBuf,
    upstream: Vec<SocketAddrV4>,
    silence: Option<String>,
    save_every: Option<String>,
    network: Option<StaticAddress>,
    wifi: Option<Joined>,
    watch: Watched,
    serve: Option<Serve>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Serve {
    port: u16,
    #[serde(default)]
    node: Vec<Node>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Node {
    name: String,
    key_file: PathBuf,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    labels: String,
    #[serde(default)]
    fields: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StaticAddress {
    address: String,
    gateway: Option<Ipv4Addr>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Joined {
    ssid: String,
    password_file: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watched {
    resource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    labels: String,
    #[serde(default)]
    fields: String,
    #[serde(default)]
    projection: String,
}

/// Fills the block of `image` with what the file at `path` says. `seed` is random, and another one for every board.
pub fn from_file(image: &mut [u8], path: &Path, seed: [u8; 32]) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(|error| because(path.display(), error))?;
    let file: File = toml::from_str(&text).map_err(|error| because(path.display(), error))?;
    let key = |name: &Path| read_key(&path.with_file_name(name));
    let wrong = |failure| because(path.display(), failure);
    let password = match &file.wifi {
        Some(wifi) => secret(&path.with_file_name(&wifi.password_file))?,
        None => String::new(),
    };
    let board = file
        .settings(key(&file.key_file)?, seed, &password)
        .map_err(wrong)?;
    match &file.serve {
        None => fill(image, &board),
        Some(serve) => {
            let keys = serve.node.iter().map(|node| key(&node.key_file));
            let keys = keys.collect::<Result<Vec<_>, _>>()?;
            fill(image, &serve.settings(board, &keys).map_err(wrong)?)
        }
    }
}

fn read_key(file: &Path) -> Result<[u8; 32], Failure> {
    hexadecimal(&secret(file)?)
        .ok_or_else(|| because(file.display(), "a key is 64 hexadecimal digits"))
}

fn check_name(what: &str, name: &str) -> Result<(), Failure> {
    match name.len() {
        1..=63 => Ok(()),
        _ => Err(because(what, "1 to 63 bytes")),
    }
}

impl Serve {
    fn settings<'a>(
        &'a self,
        board: Settings<'a>,
        keys: &'a [[u8; 32]],
    ) -> Result<RelaySettings<'a>, Failure> {
        if board.watch.projection.is_empty() {
            let why = "a relay has no place for whole objects: list the fields to keep";
            return Err(because("watch.projection", why));
        }
        let mut nodes = heapless::Vec::new();
        for (node, key) in self.node.iter().zip(keys) {
            check_name("serve.node.name", &node.name)?;
            let permit = Permit {
                name: &node.name,
                key: Key(key),
                namespace: &node.namespace,
                labels: &node.labels,
                fields: &node.fields,
            };
            let pushed = nodes.push(permit);
            pushed.map_err(|_| because("serve.node", "32 nodes at most"))?;
        }
        Ok(RelaySettings {
            board,
            port: self.port,
            nodes,
        })
    }
}

/// What a file says, without the end of the line.
fn secret(file: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(file).map_err(|error| because(file.display(), error))?;
    Ok(text.trim().to_owned())
}

impl File {
    fn settings<'a>(
        &'a self,
        key: [u8; 32],
        seed: [u8; 32],
        password: &'a str,
    ) -> Result<Settings<'a>, Failure> {
        check_name("name", &self.name)?;
        let upstream = self.upstream.iter().map(|endpoint| Endpoint {
            address: endpoint.ip().octets(),
            port: endpoint.port(),
        });
        let mut addresses = heapless::Vec::new();
        for endpoint in upstream {
            let pushed = addresses.push(endpoint);
            pushed.map_err(|_| because("upstream", "four addresses at most"))?;
        }
        if addresses.is_empty() {
            return Err(because("upstream", "at least one address"));
        }
        let network = match &self.network {
            None => Network::Dhcp,
            Some(fixed) => fixed.network()?,
        };
        let wifi = self.wifi.as_ref().map(|wifi| Wifi {
            ssid: &wifi.ssid,
            password,
        });
        if wifi.is_some_and(|wifi| wifi.ssid.is_empty() || wifi.ssid.len() > 32) {
            return Err(because("wifi.ssid", "1 to 32 bytes"));
        }
        if wifi.is_some_and(|wifi| wifi.password.len() > 64) {
            return Err(because("wifi.password-file", "64 bytes at most"));
        }
        Ok(Settings {
            name: &self.name,
            key,
            seed,
            network,
            wifi: wifi.unwrap_or_default(),
            upstream: addresses,
            watch: Watch {
                resource: &self.watch.resource,
                namespace: &self.watch.namespace,
                labels: &self.watch.labels,
                fields: &self.watch.fields,
                projection: &self.watch.projection,
            },
            silence: millis("silence", self.silence.as_deref(), 60)?,
            save_every: millis("save-every", self.save_every.as_deref(), 10)?,
        })
    }
}

impl StaticAddress {
    fn network(&self) -> Result<Network, Failure> {
        let wrong = || because("network.address", "as in 192.168.1.20/24");
        let (address, prefix) = self.address.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        if prefix > 32 {
            return Err(wrong());
        }
        Ok(Network::Static {
            address: address.octets(),
            prefix,
            gateway: self.gateway.map(|gateway| gateway.octets()),
        })
    }
}

/// Writes settings into the block of an image.
pub fn fill(image: &mut [u8], settings: &impl Serialize) -> Result<(), Failure> {
    let mut places = image
        .windows(MARK.len())
        .enumerate()
        .filter(|(_, window)| *window == MARK)
        .map(|(at, _)| at);
    let (Some(at), None) = (places.next(), places.next()) else {
        return Err(because("the image", "it has no one place for settings"));
    };
    let mut buffer = [0; u16::MAX as usize];
    let payload = postcard::to_slice(settings, &mut buffer)
        .map_err(|error| because("the settings", error))?;
    let whole = image.get_mut(at..).unwrap_or_default();
    let (head, rest) = whole
        .split_first_chunk_mut::<HEAD>()
        .ok_or_else(|| because("the image", "its end is missing"))?;
    let capacity = u16::from_le_bytes([head[MARK.len()], head[MARK.len() + 1]]);
    let place = rest
        .get_mut(..capacity.into())
        .ok_or_else(|| because("the image", "its end is missing"))?;
    if payload.len() > place.len() {
        let why = format!("{} B, and there is place for {capacity} B", payload.len());
        return Err(because("the settings", why));
    }
    let length = payload.len() as u16;
    head[MARK.len() + 2..MARK.len() + 4].copy_from_slice(&length.to_le_bytes());
    head[MARK.len() + 4..].copy_from_slice(&CRC.checksum(payload).to_le_bytes());
    place.fill(BLANK);
    place[..payload.len()].copy_from_slice(payload);
    Ok(())
}

fn hexadecimal(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

/// `250ms` or `10s`; so many seconds if nothing is said.
fn millis(name: &str, text: Option<&str>, otherwise: u64) -> Result<u32, Failure> {
    let wrong = || because(name, "a number and `ms` or `s`, at most 49 days");
    let Some(text) = text else {
        return Ok(Duration::from_secs(otherwise).as_millis() as u32);
    };
    let (number, factor) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1000),
    };
    let number: u32 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Unset};

    fn settings() -> Settings<'static> {
        Settings {
            name: "heater-1",
            key: [7; 32],
            seed: [9; 32],
            network: Network::Dhcp,
            wifi: Wifi::default(),
            upstream: heapless::Vec::new(),
            watch: Watch {
                resource: "devices.ringwatch.dev",
                namespace: "",
                labels: "",
                fields: "",
                projection: "",
            },
            silence: 1000,
            save_every: 1000,
        }
    }

    /// An image as a linker might make it, and where its block is.
    fn image<const N: usize>() -> (Vec<u8>, usize) {
        let mut image = vec![0xaa; 100];
        image.extend_from_slice(Block::<N>::EMPTY.bytes());
        image.extend_from_slice(&[0xbb; 50]);
        (image, 100)
    }

    fn read<const N: usize>(image: &[u8], at: usize) -> Result<Settings<'static>, Unset> {
        let bytes: [u8; N] = image[at..at + N].try_into().unwrap();
        Box::leak(Box::new(Block::<N>::of(bytes))).read()
    }

    #[test]
    fn what_is_written_is_read() {
        let (mut image, at) = image::<256>();
        assert_eq!(read::<256>(&image, at), Err(Unset::Blank));
        fill(&mut image, &settings()).unwrap();
        assert_eq!(read::<256>(&image, at), Ok(settings()));
        assert_eq!((image[99], image[100 + 256]), (0xaa, 0xbb));
        // Again: what was there is replaced.
        let other = Settings {
            name: "h",
            ..settings()
        };
        fill(&mut image, &other).unwrap();
        assert_eq!(read::<256>(&image, at), Ok(other));
        image[at + HEAD + 3] ^= 1;
        assert_eq!(read::<256>(&image, at), Err(Unset::Damaged));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (mut small, _) = image::<64>();
        assert!(fill(&mut small, &settings()).is_err());
        assert!(fill(&mut [0; 64], &settings()).is_err());
        let (mut twice, _) = image::<256>();
        twice.extend_from_within(..);
        assert!(fill(&mut twice, &settings()).is_err());
        let (cut, at) = image::<256>();
        assert!(fill(&mut cut[..at + 20].to_vec(), &settings()).is_err());
        assert!(fill(&mut cut[..at + 200].to_vec(), &settings()).is_err());
    }

    #[test]
    fn a_file_is_read_or_refused_with_the_reason() {
        let good = r#"
            name = "heater-1"
            key-file = "heater-1.key"
            upstream = ["192.168.1.10:6444"]
            silence = "250ms"
            [network]
            address = "192.168.1.20/24"
            gateway = "192.168.1.1"
            [wifi]
            ssid = "hall"
            password-file = "hall.wifi.key"
            [watch]
            resource = "devices.ringwatch.dev"
        "#;
        let file: File = toml::from_str(good).unwrap();
        let settings = file.settings([7; 32], [9; 32], "open sesame").unwrap();
        assert_eq!(settings.wifi.password, "open sesame");
        assert_eq!((settings.silence, settings.save_every), (250, 10_000));
        assert_eq!(
            settings.network,
            Network::Static {
                address: [192, 168, 1, 20],
                prefix: 24,
                gateway: Some([192, 168, 1, 1]),
            }
        );
        for (from, to, why) in [
            ("heater-1\"\n", "\"\n", "name"),
            ("250ms", "250", "silence"),
            ("/24", "/33", "network.address"),
            ("[\"192.168.1.10:6444\"]", "[]", "upstream"),
            ("\"hall\"", "\"\"", "wifi.ssid"),
        ] {
            let file: File = toml::from_str(&good.replacen(from, to, 1)).unwrap();
            let failure = file.settings([7; 32], [9; 32], "").unwrap_err().to_string();
            assert!(failure.starts_with(why), "{failure}");
        }
        assert!(toml::from_str::<File>(&good.replace("silence", "silent")).is_err());
        assert_eq!(hexadecimal(&"zz".repeat(32)), None);
        assert_eq!(hexadecimal(&"0f".repeat(32)), Some([15; 32]));
    }
}
