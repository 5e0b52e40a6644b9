//! A few seeds of the simulation, for while you work; `cargo xtask sim` has all of them.

use ringwatch_tests::simulation::run;

#[test]
fn nobody_is_told_anything_wrong() {
    for seed in 0..60 {
        if let Err(violation) = run(seed, false) {
            panic!("{violation}\nreplay it: cargo xtask sim --seed {seed} --trace");
        }
    }
}
