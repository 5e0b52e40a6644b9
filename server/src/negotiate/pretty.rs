//! Whether an answer is indented for people.

/// Whether the clause of the `Accept` header asked for it, or else the query parameter `pretty`, or else,
/// if that is missing or empty, the client is one that shows answers to people as they are.
#[must_use]
pub fn pretty(query: Option<&str>, clause: bool, user_agent: Option<&str>) -> bool {
    let agent = user_agent.unwrap_or("");
    clause
        || match query {
            None | Some("") => PEOPLE.iter().any(|start| agent.starts_with(start)),
            Some(value) => matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        }
}

/// How such clients call themselves: browsers and tools of the command line.
const PEOPLE: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];
