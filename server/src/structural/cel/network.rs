//! Addresses: `url`, `ip` and `cidr`.

use std::net::IpAddr;
use std::rc::Rc;

use super::functions::Function;
use super::run::IntoList;
use super::value::Val;
use super::{Fail, call};
use crate::structural::format::is_uri;

/// An address of the web, in its parts.
#[derive(Debug)]
pub(super) struct Url {
    text: Box<str>,
    scheme: Box<str>,
    /// With the port.
    host: Box<str>,
    path: Box<str>,
    query: Box<str>,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cidr {
    pub(super) address: IpAddr,
    pub(super) length: u8,
}

impl Url {
    /// Reads an absolute address or a path.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if !is_uri(text) {
            return None;
        }
        let (rest, _) = text.split_once('#').unwrap_or((text, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if !rest.is_empty() && !scheme.contains('/') => (scheme, rest),
            _ => ("", rest),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Some(Self {
            text: text.into(),
            scheme: scheme.into(),
            host: host.into(),
            path: path.into(),
            query: query.into(),
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The name of the host, and its port.
    fn host_and_port(&self) -> (&str, &str) {
        if let Some((name, rest)) = self
            .host
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
        {
            return (name, rest.strip_prefix(':').unwrap_or_default());
        }
        self.host.split_once(':').unwrap_or((&self.host, ""))
    }

    /// The values of each name, in the order of names.
    fn query<'a>(&self) -> Val<'a> {
        let mut names: Vec<(String, Vec<Val<'a>>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(self.query.as_bytes()).take(MAX_QUERY) {
            let value = Val::Made(value.into());
            match names.iter_mut().find(|(other, _)| *other == name) {
                Some((_, values)) => values.push(value),
                None => names.push((name.into_owned(), vec![value])),
            }
        }
        names.sort_by(|(left, _), (right, _)| left.cmp(right));
        let entry =
            |(name, values): (String, Vec<Val<'a>>)| (Val::Made(name.into()), values.into_list());
        Val::Map(names.into_iter().map(entry).collect())
    }
}

/// How many parts of a query are looked at: names are compared with each other.
const MAX_QUERY: usize = 1000;

/// An address as Kubernetes takes it: without a zone, and of IPv4 not written as one of IPv6.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    let mapped = matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
    (!mapped).then_some(address)
}

impl Cidr {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (start, length) = text.split_once('/')?;
        let address = address(start)?;
        let plain = length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|_| plain)?;
        (length <= width(address)).then_some(Self { address, length })
    }

    fn contains(self, other: IpAddr) -> bool {
        let shift = u32::from(width(self.address) - self.length);
        let head = |address: IpAddr| {
            let bits = match address {
                IpAddr::V4(four) => u128::from(four.to_bits()),
                IpAddr::V6(six) => six.to_bits(),
            };
            bits.checked_shr(shift).unwrap_or(0)
        };
        width(self.address) == width(other) && head(self.address) == head(other)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Calls a function of this file.
pub(super) fn call<'a>(function: Function, args: &[Val<'a>]) -> Result<Val<'a>, Fail> {
    use Function as F;
    let made = |text: &str| Ok(Val::Made(text.into()));
    let wrong = |what: &str, text: &str| {
        Err(Fail::Error(format!(
            "{what} parse error during conversion from string: {text:?}"
        )))
    };
    if let [value] = args
        && let Some(text) = value.as_text()
    {
        return match function {
            F::Url => Url::parse(text)
                .map_or_else(|| wrong("URL", text), |url| Ok(Val::Url(Rc::new(url)))),
            F::Ip => address(text).map_or_else(|| wrong("IP", text), |ip| Ok(Val::Ip(ip))),
            F::Cidr => {
                Cidr::parse(text).map_or_else(|| wrong("CIDR", text), |cidr| Ok(Val::Cidr(cidr)))
            }
            F::IsUrl => Ok(Val::Bool(Url::parse(text).is_some())),
            F::IsIp => Ok(Val::Bool(address(text).is_some())),
            F::IsCidr => Ok(Val::Bool(Cidr::parse(text).is_some())),
            _ => Err(call::no_overload()),
        };
    }
    match (function, args) {
        (F::GetScheme, [Val::Url(url)]) => made(&url.scheme),
        (F::GetHost, [Val::Url(url)]) => made(&url.host),
        (F::GetHostname, [Val::Url(url)]) => made(url.host_and_port().0),
        (F::GetPort, [Val::Url(url)]) => made(url.host_and_port().1),
        (F::GetEscapedPath, [Val::Url(url)]) => made(&url.path),
        (F::GetQuery, [Val::Url(url)]) => Ok(url.query()),
        (F::Family, [Val::Ip(ip)]) => Ok(Val::Int(if ip.is_ipv4() { 4 } else { 6 })),
        (F::IsLoopback, [Val::Ip(ip)]) => Ok(Val::Bool(ip.is_loopback())),
        (F::IsUnspecified, [Val::Ip(ip)]) => Ok(Val::Bool(ip.is_unspecified())),
        (F::PrefixLength, [Val::Cidr(cidr)]) => Ok(Val::Int(cidr.length.into())),
        (F::Ip, [Val::Cidr(cidr)]) => Ok(Val::Ip(cidr.address)),
        (F::ContainsIp, [Val::Cidr(cidr), Val::Ip(ip)]) => Ok(Val::Bool(cidr.contains(*ip))),
        (F::ContainsIp, [Val::Cidr(cidr), text]) => {
            match text.as_text().map(|text| (text, address(text))) {
                Some((_, Some(ip))) => Ok(Val::Bool(cidr.contains(ip))),
                Some((text, None)) => wrong("IP", text),
                None => Err(call::no_overload()),
            }
        }
        (F::ContainsCidr, [Val::Cidr(cidr), other]) => {
            let inner = match other {
                Val::Cidr(inner) => Some(*inner),
                other => other.as_text().and_then(Cidr::parse),
            };
            let is_inside =
                |inner: Cidr| inner.length >= cidr.length && cidr.contains(inner.address);
            let inner = inner.ok_or_else(|| Fail::Error("CIDR parse error".into()));
            inner.map(|inner| Val::Bool(is_inside(inner)))
        }
        _ => Err(call::no_overload()),
    }
}
