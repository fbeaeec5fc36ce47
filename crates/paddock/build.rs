//! How a released program is laid out: the functions that a start and the usual calls run stand together.
//!
//! The kernel shows a process sixteen pages of code for each one that it touches, and where functions stand in the order in which
//! crates were linked, a start touches nearly every part of the program. `link-order.txt` names those that are run
//! (`cargo xtask order` writes it) and the linker puts them first; a name that is no more is passed over. What the linker of
//! this machine does not understand is left out: each option is tried with an empty program, which has to run.

// It starts the compiler, and writes what that is to compile.
#![allow(clippy::disallowed_methods)]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const ORDER: &str = "link-order.txt";
/// Where a linker may be set, too.
const SETTINGS: &str = "../../.cargo/config.toml";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ORDER}");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    // Another machine's program could not be tried here.
    if !is("PROFILE", "release") || env::var("HOST") != env::var("TARGET") {
        return;
    }
    // What one linker understands another may not.
    let target = env::var("TARGET").unwrap_or_default().to_uppercase().replace(['-', '.'], "_");
    println!("cargo:rerun-if-env-changed=CARGO_TARGET_{target}_LINKER");
    if Path::new(SETTINGS).exists() {
        println!("cargo:rerun-if-changed={SETTINGS}");
    }
    let Some(list) = env::var_os("OUT_DIR").map(|out| Path::new(&out).join(ORDER)) else { return };
    if fs::copy(ORDER, &list).is_err() {
        return;
    }
    let order = format!("--symbol-ordering-file={}", list.display());
    // Addresses that are filled in at each start take a tenth of the room, and less time.
    let options: [&[&str]; 2] = [&[&order, "--no-warn-symbol-ordering"], &["-z", "pack-relative-relocs"]];
    for option in options {
        let arguments: Vec<&str> = option.iter().flat_map(|word| ["-Xlinker", word]).collect();
        if is_understood(&arguments) {
            arguments.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
        }
    }
}

/// Whether an empty program can be linked so, and runs.
fn is_understood(arguments: &[&str]) -> bool {
    let (Some(rustc), Some(out)) = (env::var_os("RUSTC"), env::var_os("OUT_DIR")) else { return false };
    let (source, program) = (Path::new(&out).join("empty.rs"), Path::new(&out).join("empty"));
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut link = Command::new(rustc);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    link.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut set = OsString::from("linker=");
        set.push(linker);
        link.arg("-C").arg(set);
    }
    for argument in arguments {
        link.arg("-C").arg(format!("link-arg={argument}"));
    }
    link.arg("-o").arg(&program).arg(&source);
    [link, Command::new(&program)].iter_mut().all(succeeds)
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
