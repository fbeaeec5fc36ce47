//! The licences under which we take in what others wrote.
//!
//! Owns the list: all of them let a binary be passed on without its sources, under any terms. Expressions are read by `spdx`.

use spdx::{Expression, LicenseItem, LicenseReq, ParseMode};

const ACCEPTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Can it be used under licences of the list alone? If not, why.
pub(super) fn accepted(expression: Option<&str>) -> Result<(), String> {
    let Some(expression) = expression else { return Err("it names no licence".to_owned()) };
    // Older crates write "MIT/Apache-2.0".
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let parsed = Expression::parse_mode(expression, mode)
        .map_err(|error| format!("its licence \"{expression}\" cannot be read: {}", error.reason))?;
    if parsed.evaluate(is_accepted) {
        return Ok(());
    }
    Err(format!("its licence \"{expression}\" is not one we accept"))
}

fn is_accepted(wanted: &LicenseReq) -> bool {
    match &wanted.license {
        LicenseItem::Spdx { id, .. } => ACCEPTED.contains(&id.name),
        LicenseItem::Other { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_is_enough_and_all_of_many_are_needed() {
        for fine in ["MIT", "GPL-3.0-only OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 / MIT"] {
            assert_eq!(accepted(Some(fine)), Ok(()), "{fine}");
        }
        for refused in ["GPL-3.0-only", "MIT AND AGPL-3.0-only", "LicenseRef-ours", "anything", ""] {
            assert!(accepted(Some(refused)).is_err(), "{refused}");
        }
        assert!(accepted(None).is_err());
    }
}
