//! etcd's JSON interface: how the tests write as someone else would.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// A client that shares no code with the one under test. Each method panics if etcd refuses.
#[derive(Debug, Clone)]
pub struct Gateway {
    address: String,
}

impl Gateway {
    pub(super) fn new(address: String) -> Self {
        Self { address }
    }

    /// Writes a key, with its full name, and returns the revision.
    pub fn put(&self, key: &str, value: &str) -> u64 {
        self.put_all(&[(key, value)])
    }

    /// Writes several keys in one transaction.
    pub fn put_all(&self, pairs: &[(&str, &str)]) -> u64 {
        let puts: Vec<_> = pairs
            .iter()
            .map(|(key, value)| {
                let (key, value) = (base64(key), base64(value));
                format!(r#"{{"request_put":{{"key":"{key}","value":"{value}"}}}}"#)
            })
            .collect();
        let answer = self.call("kv/txn", &format!(r#"{{"success":[{}]}}"#, puts.join(",")));
        number(&answer, "revision")
    }

    /// Deletes a key.
    pub fn delete(&self, key: &str) -> u64 {
        let answer = self.call("kv/deleterange", &format!(r#"{{"key":"{}"}}"#, base64(key)));
        number(&answer, "revision")
    }

    /// How often a key was written since it was created; 0 if there is none.
    pub fn version(&self, key: &str) -> u64 {
        let answer = self.call("kv/range", &format!(r#"{{"key":"{}"}}"#, base64(key)));
        field(&answer, "version").map_or(0, |version| version.parse().expect("a number"))
    }

    /// The version of the server: major, minor, patch.
    pub fn server_version(&self) -> [u32; 3] {
        let answer = get(&self.address, "/version").expect("a version");
        let version = field(&answer, "etcdserver").expect("a version");
        let numbers: Vec<_> = version
            .split('.')
            .map(|number| number.parse().expect("a number"))
            .collect();
        numbers.try_into().expect("three numbers")
    }

    /// Forgets the states before a revision.
    pub fn compact(&self, revision: u64) {
        self.call("kv/compaction", &format!(r#"{{"revision":"{revision}"}}"#));
    }

    /// Adds a user that may read and write keys from `start` to before `end`, and asks everyone for a login from now
    /// on. The user `root` may do everything, with the same password.
    pub fn require_login(&self, user: &str, password: &str, start: &str, end: &str) {
        for name in ["root", user] {
            self.call("auth/role/add", &format!(r#"{{"name":"{name}"}}"#));
            let login = format!(r#"{{"name":"{name}","password":"{password}"}}"#);
            self.call("auth/user/add", &login);
            let grant = format!(r#"{{"user":"{name}","role":"{name}"}}"#);
            self.call("auth/user/grant", &grant);
        }
        self.call("auth/role/grant", &right(user, start, end));
        self.call("auth/enable", "{}");
    }

    /// Lets a user read and write more keys, when a login is required.
    pub fn grant(&self, user: &str, password: &str, start: &str, end: &str) {
        let login = format!(r#"{{"name":"root","password":"{password}"}}"#);
        let answer = self.call("auth/authenticate", &login);
        let token = field(&answer, "token").expect("a token");
        self.call_as(token, "auth/role/grant", &right(user, start, end));
    }

    /// This member's id and the leader's; `None` if it has none or does not answer.
    pub(super) fn member_and_leader(&self) -> Option<(String, String)> {
        let answer = request(&self.address, "", "POST", "/v3/maintenance/status", "{}").ok()?;
        Some((
            field(&answer, "member_id")?.to_owned(),
            field(&answer, "leader")?.to_owned(),
        ))
    }

    fn call(&self, what: &str, body: &str) -> String {
        self.call_as("", what, body)
    }

    fn call_as(&self, token: &str, what: &str, body: &str) -> String {
        request(&self.address, token, "POST", &format!("/v3/{what}"), body)
            .unwrap_or_else(|why| panic!("{what}: {why}"))
    }
}

/// The right of a role to keys from `start` to before `end`.
fn right(role: &str, start: &str, end: &str) -> String {
    let (start, end) = (base64(start), base64(end));
    format!(
        r#"{{"name":"{role}","perm":{{"permType":"READWRITE","key":"{start}","range_end":"{end}"}}}}"#
    )
}

/// What is at `path`.
pub(super) fn get(address: &str, path: &str) -> io::Result<String> {
    request(address, "", "GET", path, "")
}

fn request(address: &str, token: &str, method: &str, path: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // An empty token is a wrong one to some versions of etcd.
    let login = match token {
        "" => String::new(),
        token => format!("Authorization: {token}\r\n"),
    };
    // Version 1.0, since its answers end with the connection and are not chunked.
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\n{login}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    match head.split_whitespace().nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(io::Error::other(answer)),
    }
}

/// The text of the first field `name`. etcd writes numbers as text, too.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

fn number(json: &str, name: &str) -> u64 {
    field(json, name)
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {json}"))
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let byte = |n: usize| u32::from(group.get(n).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let sextet = bits >> (18 - 6 * digit) & 63;
            encoded.push(match digit <= group.len() {
                true => DIGITS[sextet as usize].into(),
                false => '=',
            });
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_etcd_expects_it() {
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("/registry", "L3JlZ2lzdHJ5"),
        ] {
            assert_eq!(base64(text), encoded);
        }
    }

    #[test]
    fn fields_are_found() {
        let json = r#"{"header":{"revision":"12"},"leader":"7"}"#;
        assert_eq!(number(json, "revision"), 12);
        assert_eq!(field(json, "leader"), Some("7"));
        assert_eq!(field(json, "version"), None);
    }
}
