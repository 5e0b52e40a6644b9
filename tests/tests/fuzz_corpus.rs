//! Runs every fuzz harness without a fuzzer: on the stored corpus, on variations of it, and on random
//! bytes. Any toolchain can do this, so it is part of every test run.

use std::{
    collections::BTreeSet,
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

use ringwatch_tests::{
    harness::{TARGETS, Target},
    random::Random,
};

const LONGEST: usize = 512;

#[test]
fn harnesses_take_their_corpus() {
    for target in TARGETS {
        for (path, data) in corpus(target.name) {
            try_input(target, &data, &path.display().to_string());
        }
    }
}

#[test]
fn harnesses_take_random_bytes() {
    for target in TARGETS {
        for seed in 0..target.inputs {
            let data = Random::new(seed).bytes(LONGEST);
            try_input(target, &data, &format!("seed {seed}"));
        }
    }
}

/// Random bytes rarely get past a decoder's first check; a seed with a few bytes changed does.
#[test]
fn harnesses_take_damaged_corpus() {
    for target in TARGETS {
        let corpus = corpus(target.name);
        for seed in 0..target.inputs {
            let mut random = Random::new(seed);
            let (path, data) = &corpus[random.below(corpus.len())];
            let damaged = damage(data.clone(), &mut random);
            try_input(
                target,
                &damaged,
                &format!("{} with seed {seed}", path.display()),
            );
        }
    }
}

#[test]
fn every_fuzz_target_has_a_harness() {
    let listed: BTreeSet<_> = TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect();
    assert_eq!(
        names(&fuzz_folder().join("fuzz_targets")),
        listed,
        "fuzz_targets"
    );
    assert_eq!(names(&fuzz_folder().join("corpus")), listed, "corpus");
    assert_eq!(programs(), listed, "[[bin]] in Cargo.toml");
}

fn try_input(target: &Target, data: &[u8], origin: &str) {
    if catch_unwind(|| (target.run)(data)).is_err() {
        panic!(
            "harness `{}` panics on {origin}: {}",
            target.name,
            data.escape_ascii()
        );
    }
}

fn damage(mut data: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(4) {
        let at = random.below(data.len() + 1);
        match (random.below(4), data.get_mut(at)) {
            (0, _) => data.truncate(at),
            (1, _) => data.insert(at, random.number() as u8),
            (2, Some(_)) => drop(data.remove(at)),
            (_, Some(byte)) => *byte ^= 1 << random.below(8),
            (_, None) => data.extend(random.bytes(8)),
        }
    }
    data
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = fuzz_folder().join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("no corpus for `{target}`: {}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    assert!(!files.is_empty(), "the corpus of `{target}` is empty");
    files.sort();
    files
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect()
}

/// The names of the `[[bin]]` sections, where the name comes first.
fn programs() -> BTreeSet<String> {
    let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml")).unwrap();
    manifest
        .split("[[bin]]\nname = \"")
        .skip(1)
        .map(|section| section.split('"').next().unwrap().to_owned())
        .collect()
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}
