//! Do the recorder and the simulation notice what is broken? Each file in `tests/mutants` breaks the cache or the link in one
//! place, and must be caught.
//!
//! The crates are copied to `target/mutants`, where one text is replaced at a time; the sources stay as they are. What runs there
//! is one quick test, or some seeds of the simulation, which print the properties that they found violated. A mutant whose text is no
//! longer in the sources, or that is not caught by the property it names, is an error.
//!
//! ```text
//! breaks: unique                 the property that must be found violated
//! by: simulation                 who must find it; the recorded test of the cache if left out
//! file: core/src/history.rs
//! why: what it does to a watcher
//! --- find
//! a text that is once in the file
//! --- replace
//! what to put there
//! ```

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    command::{Context, Failure, Result, output},
    places,
};

const MUTANTS: &str = "tests/mutants";
const PACKAGE: &str = "ringwatch-tests";
/// How many seeds a mutant must be caught by. Few are enough, since most are caught by every second one.
const SEEDS: &str = "400";
/// What the copy consists of: the workspace, since its manifest names all members.
const COPIED: [&str; 7] = [
    "Cargo.lock",
    "boards",
    "core",
    "edge-daemon",
    "server",
    "tests",
    "xtask",
];
/// The start of the line that gives all members their version.
const VERSION: &str = "\nversion = \"";
/// What the recorder prints before the name of a property.
const VIOLATED: &str = "VIOLATED ";
/// How long the test may take; a broken cache may never come to an end.
const LIMIT: Duration = Duration::from_secs(90);

/// Tries all mutants, or those whose names begin so.
pub(crate) fn try_all(only: Option<&str>) -> Result<()> {
    let mut mutants = Mutant::all()?;
    if let Some(only) = only {
        mutants.retain(|mutant| mutant.name.starts_with(only));
    }
    try_these(&mutants)
}

/// Tries the mutants of the cache: the others are built optimised, which takes too long for every run.
pub(crate) fn try_those_of_the_cache() -> Result<()> {
    let mut mutants = Mutant::all()?;
    mutants.retain(|mutant| mutant.witness == Witness::Recorder);
    try_these(&mutants)
}

fn try_these(mutants: &[Mutant]) -> Result<()> {
    if mutants.is_empty() {
        return Err(Failure::new(format!("no such mutant in {MUTANTS}")));
    }
    let copy = places::root().join("target/mutants");
    fs::create_dir_all(&copy).context(copy.display())?;
    for name in COPIED {
        synchronize(&places::root().join(name), &copy.join(name))?;
    }
    let manifest = fs::read_to_string(places::root().join("Cargo.toml")).context("Cargo.toml")?;
    write_if_other(&copy.join("Cargo.toml"), renamed(&manifest)?.as_bytes())?;
    println!("    without a mutant");
    for witness in [Witness::Recorder, Witness::Simulation] {
        let needed = mutants.iter().any(|mutant| mutant.witness == witness);
        match needed.then(|| witness.testify(&copy)).transpose()? {
            None | Some(Verdict::Passed) => {}
            Some(other) => {
                return Err(Failure::new(format!("what is sound fails: {other}")));
            }
        }
    }
    let width = mutants.iter().map(|m| m.name.len()).max().unwrap_or(0);
    println!(
        "    {:<width$}  {:<19} {:>5}  caught by",
        "mutant", "must break", "s"
    );
    let mut missed = Vec::new();
    for mutant in mutants {
        let start = Instant::now();
        let verdict = mutant.try_in(&copy)?;
        let caught = matches!(&verdict, Verdict::Violated(names) if names.contains(&mutant.breaks));
        let took = start.elapsed().as_secs();
        println!(
            "    {:<width$}  {:<19} {took:>5}  {verdict}",
            mutant.name, mutant.breaks
        );
        if !caught {
            missed.push(format!("{} ({verdict}): {}", mutant.name, mutant.why));
        }
    }
    if missed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("not caught:\n{}", missed.join("\n"))))
    }
}

/// Who finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Witness {
    /// The recorded test of the cache.
    Recorder,
    /// Some seeds of the simulation.
    Simulation,
}

/// One way to break something.
#[derive(Debug, PartialEq, Eq)]
struct Mutant {
    name: String,
    /// The property that must be found violated.
    breaks: String,
    witness: Witness,
    file: String,
    why: String,
    find: String,
    replace: String,
}

impl Mutant {
    fn all() -> Result<Vec<Self>> {
        let folder = places::root().join(MUTANTS);
        let mut mutants = Vec::new();
        for entry in fs::read_dir(&folder).context(folder.display())? {
            let path = entry.context(folder.display())?.path();
            let text = fs::read_to_string(&path).context(path.display())?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let mutant = Self::parse(&name, &text);
            mutants.push(mutant.ok_or_else(|| {
                Failure::new(format!(
                    "{} is no mutant: see CONTRIBUTING.md",
                    path.display()
                ))
            })?);
        }
        mutants.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(mutants)
    }

    fn parse(name: &str, text: &str) -> Option<Self> {
        let (head, texts) = text.split_once("--- find\n")?;
        let (find, replace) = texts.split_once("\n--- replace\n")?;
        let value = |key: &str| {
            let lines = head.lines();
            let mut found = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            found.next().map(str::to_owned)
        };
        Some(Self {
            name: name.to_owned(),
            breaks: value("breaks")?,
            witness: match value("by").as_deref() {
                None => Witness::Recorder,
                Some("simulation") => Witness::Simulation,
                Some(_) => return None,
            },
            file: value("file")?,
            why: value("why")?,
            find: find.to_owned(),
            replace: replace.strip_suffix('\n')?.to_owned(),
        })
    }

    fn apply(&self, source: &str) -> Result<String> {
        match source.matches(&self.find).count() {
            1 => Ok(source.replacen(&self.find, &self.replace, 1)),
            count => Err(Failure::new(format!(
                "mutant {}: its text is {count} times in {}, not once",
                self.name, self.file
            ))),
        }
    }

    fn try_in(&self, copy: &Path) -> Result<Verdict> {
        let file = copy.join(&self.file);
        let source = fs::read_to_string(&file).context(file.display())?;
        fs::write(&file, self.apply(&source)?).context(file.display())?;
        let verdict = self.witness.testify(copy);
        fs::write(&file, source).context(file.display())?;
        verdict
    }
}

/// How the test ended.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// These properties were found violated.
    Violated(BTreeSet<String>),
    /// It failed without naming one.
    Failed(String),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Passed => f.write_str("nothing"),
            Self::Violated(names) => {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                f.write_str(&names.join(", "))
            }
            Self::Failed(how) => f.write_str(how),
        }
    }
}

impl Witness {
    /// Builds and runs the program in the copy.
    fn testify(self, copy: &Path) -> Result<Verdict> {
        let target = places::root().join("target");
        let mut build = places::cargo_in(copy);
        // Optimised like `cargo xtask sim`, which takes longer to build, but many seeds run in no time.
        build.args(match self {
            Self::Recorder => "test --no-run --test cache_record".split(' '),
            Self::Simulation => {
                "build --profile proof --no-default-features --bin simulation".split(' ')
            }
        });
        // The same folder as for the sources, since all dependencies are built there already.
        build
            .args(["--package", PACKAGE, "--target-dir"])
            .arg(&target);
        let built = output(&mut build)?;
        let said = String::from_utf8_lossy(&built.stderr);
        if !built.status.success() {
            return Err(Failure::new(format!("a mutant does not build:\n{said}")));
        }
        match self {
            Self::Recorder => {
                let program = executable(&said).ok_or_else(|| {
                    Failure::new(format!("cargo does not say where the test is:\n{said}"))
                })?;
                run_to_end(&copy.join(program), &[], copy)
            }
            Self::Simulation => {
                let program = target.join("proof/simulation");
                run_to_end(&program, &["--seeds", SEEDS], copy)
            }
        }
    }
}

fn run_to_end(program: &Path, arguments: &[&str], copy: &Path) -> Result<Verdict> {
    let log = copy.join("output");
    let file = fs::File::create(&log).context(log.display())?;
    let mut test = Command::new(program);
    test.args(arguments)
        .current_dir(copy.join("tests"))
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(file.try_clone().context(log.display())?)
        .stderr(file);
    let mut child = test.spawn().context(program.display())?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait().context(program.display())? {
            Some(status) => break status,
            None if start.elapsed() > LIMIT => {
                // It may have ended by itself just now.
                let _ = child.kill();
                child.wait().context(program.display())?;
                return Ok(Verdict::Failed("it never ended".to_owned()));
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    let printed = fs::read_to_string(&log).context(log.display())?;
    Ok(if status.success() {
        Verdict::Passed
    } else {
        verdict(&printed)
    })
}

/// What a test that failed says.
fn verdict(printed: &str) -> Verdict {
    let lines = printed
        .lines()
        .filter_map(|line| line.trim().strip_prefix(VIOLATED));
    let names: BTreeSet<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.to_owned())
        .collect();
    if !names.is_empty() {
        return Verdict::Violated(names);
    }
    let mut lines = printed.lines();
    let panic = lines.find(|line| line.contains("panicked at"));
    let why = panic.and_then(|_| lines.next()).unwrap_or("it failed");
    Verdict::Failed(why.to_owned())
}

/// The path in cargo's `Executable tests/x.rs (path)`.
fn executable(said: &str) -> Option<PathBuf> {
    let line = said
        .lines()
        .find(|line| line.trim().starts_with("Executable"))?;
    let path = line.rsplit_once('(')?.1.strip_suffix(')')?;
    Some(path.into())
}

/// Makes `to` what `from` is. Files that are the same are not written, so that cargo builds only what differs.
fn synchronize(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to).context(to.display())?;
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(from).context(from.display())? {
            let name = entry.context(from.display())?.file_name();
            if name != "target" {
                synchronize(&from.join(&name), &to.join(&name))?;
                names.insert(name);
            }
        }
        for entry in fs::read_dir(to).context(to.display())? {
            let entry = entry.context(to.display())?;
            if !names.contains(&entry.file_name()) {
                let gone = entry.path();
                let removed = if gone.is_dir() {
                    fs::remove_dir_all(&gone)
                } else {
                    fs::remove_file(&gone)
                };
                removed.context(gone.display())?;
            }
        }
        return Ok(());
    }
    write_if_other(to, &fs::read(from).context(from.display())?)
}

fn write_if_other(file: &Path, wanted: &[u8]) -> Result<()> {
    if fs::read(file).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    fs::write(file, wanted).context(file.display())
}

/// The manifest with another version of all members. Cargo tells packages in one target folder apart by name and version, and would
/// take a broken crate for the sound one; what they depend on is built once for both.
fn renamed(manifest: &str) -> Result<String> {
    match manifest.matches(VERSION).count() {
        1 => Ok(manifest.replacen(VERSION, &format!("{VERSION}0.0.0-mutant-of."), 1)),
        count => Err(Failure::new(format!(
            "Cargo.toml gives the members {count} versions, not one"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "breaks: unique\nfile: core/src/a.rs\nwhy: because\n--- find\na\nb\n--- replace\nc\n";

    #[test]
    fn a_mutant_is_a_text_and_its_replacement() {
        let mutant = Mutant::parse("twice", TEXT).unwrap();
        assert_eq!(mutant.apply("x a\nb y").unwrap(), "x c y");
        assert_eq!(mutant.breaks, "unique");
        for source in ["x", "a\nb a\nb"] {
            let failure = mutant.apply(source).unwrap_err().to_string();
            assert!(failure.starts_with("mutant twice: "), "{failure}");
        }
        assert_eq!(Mutant::parse("half", "breaks: unique\n--- find\na\n"), None);
    }

    #[test]
    fn the_copy_is_another_version() {
        let renamed = renamed("[workspace.package]\nversion = \"0.1.0\"\n").unwrap();
        assert!(renamed.contains("version = \"0.0.0-mutant-of.0.1.0\""));
        assert!(super::renamed("[workspace]\n").is_err());
    }

    #[test]
    fn all_mutants_apply() {
        for mutant in Mutant::all().unwrap() {
            let source = fs::read_to_string(places::root().join(&mutant.file)).unwrap();
            assert_ne!(mutant.apply(&source).unwrap(), source);
        }
    }

    #[test]
    fn the_verdict_names_the_properties() {
        let printed = "thread 'x' panicked at a.rs:\nbad\n    VIOLATED unique: 3 times\n  unique: …\nVIOLATED ordered: 1 times";
        let names = ["ordered", "unique"].map(str::to_owned).into();
        assert_eq!(verdict(printed), Verdict::Violated(names));
        let other = "thread 'x' panicked at a.rs:\na cache that follows: Elapsed(())";
        let why = "a cache that follows: Elapsed(())".to_owned();
        assert_eq!(verdict(other), Verdict::Failed(why));
        let said = "  Executable tests/cache_record.rs (target/debug/deps/cache_record-1)\n";
        assert_eq!(
            executable(said),
            Some("target/debug/deps/cache_record-1".into())
        );
    }
}
