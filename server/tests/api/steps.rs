//! Tables of requests that are asked one after the other, each with what to look at in the answer.
//!
//! ```text
//! POST /api/v1/namespaces/n/configmaps      the request; RAW and the bytes, for what is no request; UNTIL and a request,
//!                                           to be asked again until the answer is as the lines say
//!   > accept: application/yaml              one of its headers
//!   | {"metadata":{"name":"a"}}             its body
//!   = 201 ConfigMap                         the answer in one line, see `describe`
//!   < content-type: application/yaml        one of its headers; with nothing behind it, none; with `*`, any
//!   ~ name: a                               a part of its body
//!   /metadata/name "a"                      a value in it; `-` for none
//!   uid := /metadata/uid                    a value to be named, for later steps
//! ```
//!
//! Long and unprintable things are written as `notation` says.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::describe;
use crate::http::{Request, Response, open_raw, send};
use crate::names::Names;
use crate::notation::{expand, repeat};
use crate::server::Server;

/// What stands before a request that is asked again and again.
const UNTIL: &str = "UNTIL ";
/// How long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request and what is said of its answer.
#[derive(Debug)]
struct Step<'a> {
    request: &'a str,
    lines: Vec<&'a str>,
}

/// Takes the steps of a table, which has at least so many, and fails with those that were answered differently. After each,
/// `between` is called.
pub(crate) fn take(server: &Server, table: &str, at_least: usize, between: impl Fn(&str)) {
    let steps = steps(table);
    assert!(steps.len() >= at_least, "only {} steps", steps.len());
    let mut names = Names::default();
    let mut wrong = Vec::new();
    for step in &steps {
        let begun = Instant::now();
        let mut found = step.check(server, &mut names);
        while step.request.starts_with(UNTIL) && !found.is_empty() && begun.elapsed() < PATIENCE {
            found = step.check(server, &mut names);
        }
        if !found.is_empty() {
            found.insert(0, step.request.to_owned());
            wrong.push(names.restore(&found.join("\n    ")));
        }
        between(step.request);
    }
    assert!(
        wrong.is_empty(),
        "{} steps:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn steps(table: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in table.lines() {
        match line.strip_prefix("  ") {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some(line) => steps.last_mut().expect("a request first").lines.push(line),
            None => steps.push(Step {
                request: line,
                lines: Vec::new(),
            }),
        }
    }
    steps
}

impl Step<'_> {
    /// What is not as it should be.
    fn check(&self, server: &Server, names: &mut Names) -> Vec<String> {
        let response = match self.ask(server, names) {
            Ok(response) => response,
            Err(_) if self.lines.contains(&"= hung up") => return Vec::new(),
            Err(error) => return vec![format!("= {error}")],
        };
        let mut wrong = Vec::new();
        let mut described = false;
        for line in &self.lines {
            let found = match line.split_at_checked(2) {
                Some(("> " | "| ", _)) => continue,
                Some(("= ", _)) => {
                    described = true;
                    format!("= {}", describe::answer(&response))
                }
                Some(("< ", header)) => {
                    let (name, value) = header.split_once(':').expect("a header");
                    if value == " *" && !response.header(name).is_empty() {
                        continue;
                    }
                    format!("< {name}: {}", response.header(name))
                        .trim_end()
                        .to_owned()
                }
                Some(("~ ", part)) => {
                    let text = String::from_utf8_lossy(&response.body);
                    match text.contains(&names.fill(part)) {
                        true => continue,
                        false => format!("~ {text}"),
                    }
                }
                _ if line.starts_with('/') => value(line, &response),
                _ => {
                    let (name, pointer) = line.split_once(" := ").expect("a line of a step");
                    let body = response.json();
                    names.set(name, describe::text(&body, pointer));
                    continue;
                }
            };
            described |= line.starts_with("/code ");
            if found != names.fill(&repeat(line)) {
                wrong.push(found);
            }
        }
        assert!(described, "nothing is said of {}", self.request);
        wrong
    }

    fn ask(&self, server: &Server, names: &Names) -> std::io::Result<Response> {
        let line = names.fill(self.request);
        if let Some(raw) = line.strip_prefix("RAW ") {
            return open_raw(server.address, &expand(raw))?.finish();
        }
        let line = line.strip_prefix(UNTIL).unwrap_or(&line);
        let (method, target) = line.split_once(' ').expect("a method and a path");
        let target = String::from_utf8(expand(target)).expect("a path as text");
        let mut request = Request::new(method, &target);
        for line in &self.lines {
            if let Some(header) = line.strip_prefix("> ") {
                let (name, value) = header.split_once(": ").expect("a header");
                request = request.header(name, value);
            }
            if let Some(body) = line.strip_prefix("| ") {
                request.body = expand(&names.fill(body));
            }
        }
        send(server.address, &request)
    }
}

fn value(line: &str, response: &Response) -> String {
    let (pointer, _) = line.split_once(' ').expect("a place and a value");
    match serde_json::from_slice::<Value>(&response.body) {
        Ok(body) => match body.pointer(pointer) {
            Some(value) => format!("{pointer} {value}"),
            None => format!("{pointer} -"),
        },
        Err(error) => format!("{pointer} {error}"),
    }
}
