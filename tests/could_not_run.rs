//! Says of a test, or of a part of one, that this machine could not run it.
//!
//! Shared by the integration binaries that need it. `cargo xtask test` names a file and lists its lines at the end; without one
//! it is only printed. A test must never pass in silence by not running, so what cannot be written down is a failure.

use std::io::Write as _;

/// Names the file that takes the lines; xtask knows it by the same name.
const FILE: &str = "PADDOCK_COULD_NOT_RUN";

/// Says it of the test that is running.
pub(crate) fn could_not_run(why: &str) {
    tell(&format!("{} {}: {why}", env!("CARGO_PKG_NAME"), running()));
}

/// Says it of more than one test; the same line counts once.
#[allow(clippy::print_stdout, clippy::disallowed_methods, reason = "whoever runs a test by hand reads it there")]
pub(crate) fn tell(line: &str) {
    println!("could not run: {line}");
    let Some(path) = std::env::var_os(FILE) else { return };
    let file = std::fs::File::options().append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    assert!(written.is_ok(), "what could not run has to be written down: {written:?}");
}

/// Its name: that of its thread, or what was asked for where there is only one thread.
fn running() -> String {
    let thread = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
    let asked = || std::env::args().skip_while(|word| word != "--exact").nth(1);
    thread.or_else(asked).unwrap_or_else(|| "a test".to_owned())
}
