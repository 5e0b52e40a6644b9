//! Users and their tokens, from a file as Kubernetes has it.
//!
//! ```text
//!   token,user,uid
//!   token,user,uid,"group1,group2"
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::Caller;
use super::csv::{self, Fault};

/// The most users that one file may have.
const MAX_USERS: usize = 10_000;
/// The largest file that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Users, each with a token.
#[derive(Default)]
pub struct Users {
    pub(super) by_token: Vec<(String, Caller)>,
}

impl Users {
    /// Reads a file.
    pub fn load(file: &Path) -> Result<Self, UserFileError> {
        let failed = |problem| UserFileError {
            file: file.to_owned(),
            line: 0,
            problem,
        };
        let size = fs::metadata(file).map_err(|error| failed(Problem::Unreadable(error)))?;
        if size.len() > MAX_BYTES {
            return Err(failed(Problem::TooLarge));
        }
        let text = fs::read_to_string(file).map_err(|error| failed(Problem::Unreadable(error)))?;
        Self::parse(file, &text)
    }

    /// Reads a file's text. The path is for the words of an error.
    pub fn parse(file: &Path, text: &str) -> Result<Self, UserFileError> {
        let mut by_token: Vec<(String, Caller)> = Vec::new();
        let mut seen = std::collections::HashMap::new();
        for (line, record) in (1..).zip(text.lines()) {
            if record.trim().is_empty() {
                continue;
            }
            let failed = |problem| UserFileError {
                file: file.to_owned(),
                line,
                problem,
            };
            let (token, caller) = parse_record(record).map_err(failed)?;
            if let Some(first) = seen.insert(token.clone(), line) {
                return Err(failed(Problem::Twice { first }));
            }
            if by_token.len() == MAX_USERS {
                return Err(failed(Problem::TooMany));
            }
            by_token.push((token, caller));
        }
        Ok(Self { by_token })
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Users({})", self.by_token.len())
    }
}

fn parse_record(record: &str) -> Result<(String, Caller), Problem> {
    let fields = csv::fields(record).map_err(Problem::Csv)?;
    let (token, user, uid, groups) = match fields.as_slice() {
        [token, user, uid] => (token, user, uid, ""),
        [token, user, uid, groups] => (token, user, uid, groups.as_str()),
        fields => return Err(Problem::Fields(fields.len())),
    };
    if token.is_empty() || token.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Problem::Token);
    }
    if user.is_empty() {
        return Err(Problem::NoUser);
    }
    let groups = groups.split(',').map(str::trim);
    let groups = groups.filter(|group| !group.is_empty());
    let caller = Caller::user(user, uid, groups.map(str::to_owned).collect());
    Ok((token.clone(), caller))
}

/// What is wrong with a file of users, and where. Tokens are not repeated in it.
#[derive(Debug)]
pub struct UserFileError {
    file: PathBuf,
    /// 0 for the file as a whole.
    line: usize,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    Unreadable(io::Error),
    TooLarge,
    TooMany,
    Csv(Fault),
    Fields(usize),
    Token,
    NoUser,
    Twice { first: usize },
}

impl fmt::Display for UserFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        f.write_str(": ")?;
        match &self.problem {
            Problem::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Problem::TooLarge => write!(f, "is larger than {MAX_BYTES} bytes"),
            Problem::TooMany => write!(f, "more than {MAX_USERS} users"),
            Problem::Csv(Fault::Unclosed) => {
                f.write_str("a quote is not closed; a line is token,user,uid,\"group1,group2\"")
            }
            Problem::Csv(Fault::AfterClose) => {
                f.write_str("a comma must follow a closing quote; in quotes, write a quote twice")
            }
            Problem::Csv(Fault::Stray) => {
                f.write_str("a quote inside a field; put the whole field into quotes")
            }
            Problem::Fields(1..=2) => {
                f.write_str("too few fields; a line is token,user,uid,\"group1,group2\"")
            }
            Problem::Fields(_) => {
                f.write_str("too many fields; put the groups into quotes: \"group1,group2\"")
            }
            Problem::Token => f.write_str("field 1: the token is empty or has spaces in it"),
            Problem::NoUser => f.write_str("field 2: the user has no name"),
            Problem::Twice { first } => {
                write!(
                    f,
                    "field 1: the token is that of line {first}; each needs its own"
                )
            }
        }
    }
}

impl Error for UserFileError {}
