//! What a server that stays gives back of its own program once it has started.
//!
//! A start touches code in places that nothing afterwards needs, and the kernel shows a process sixteen pages for each that it
//! touches: of this program half of all that is resident. What is needed again is shown again, at about a microsecond for
//! sixteen pages. It must never touch anything but code, which is the same in the file.

use std::ops::Range;

use crate::sys;

/// Lets go of the code that was shown to this process so far.
pub fn let_go_of_the_start() {
    if let Some(code) = own_code() {
        sys::forget_code(code);
    }
}

/// Where the code of this program lies.
fn own_code() -> Option<Range<usize>> {
    let here = let_go_of_the_start as *const () as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| code_of(line).filter(|code| code.contains(&here)))
}

/// The addresses of a mapping that is code, which nobody can write to.
fn code_of(line: &str) -> Option<Range<usize>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    rest.starts_with("r-xp ").then_some(number(start)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_let_go_of() {
        let code = "55d0a000-55d0c000 r-xp 00001000 fe:00 77   /usr/bin/paddock";
        assert_eq!(code_of(code), Some(0x55d0_a000..0x55d0_c000));
        for other in ["r--p", "rw-p", "rwxp", "---p", "r-xs"] {
            assert_eq!(code_of(&code.replace("r-xp", other)), None);
        }
        let own = own_code().unwrap();
        assert!(own.contains(&(own_code as *const () as usize)));
        let_go_of_the_start();
        assert_eq!(own_code(), Some(own), "it goes on as before");
    }
}
