//! What is kept of a share's password: what argon2id made of it, with a salt of its own. Never the password.

use argon2::{Algorithm, Argon2, Params, Version};

use crate::access;
use crate::failure::{Failure, Result};

/// Memory in KiB, passes, lanes, and bytes of the outcome: what is recommended for a server.
const HARD: (u32, u32, u32, usize) = (19 * 1024, 2, 1, 32);
/// The shortest and the longest password in bytes.
const SHORTEST: usize = 8;
const LONGEST: usize = 1024;

/// What to keep of a password.
pub(super) fn kept(password: &str) -> Result<String> {
    if password.len() < SHORTEST || password.len() > LONGEST {
        return Err(Failure::misused(
            format!("a password has {SHORTEST} to {LONGEST} bytes"),
            "choose another one; a few words are easy to say and hard to guess",
        ));
    }
    let salt = access::secret()?;
    let made = stretched(password, &salt)
        .ok_or_else(|| Failure::failed("the password could not be kept", "look whether memory is short"))?;
    Ok(format!("{salt}:{}", made.to_hex()))
}

/// Is it this password?
pub(super) fn is(password: &str, kept: &str) -> bool {
    let Some((salt, made)) = kept.split_once(':') else { return false };
    let (Ok(made), true) = (blake3::Hash::from_hex(made), password.len() <= LONGEST) else { return false };
    // Compared in constant time.
    stretched(password, salt).is_some_and(|own| own == made)
}

fn stretched(password: &str, salt: &str) -> Option<blake3::Hash> {
    let (memory, passes, lanes, length) = HARD;
    let params = Params::new(memory, passes, lanes, Some(length)).ok()?;
    let mut made = [0; 32];
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_into(password.as_bytes(), salt.as_bytes(), &mut made).ok()?;
    Some(blake3::Hash::from_bytes(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_again_and_never_kept() {
        let once = kept("correct horse").unwrap();
        assert!(is("correct horse", &once));
        assert!(!is("correct hors", &once));
        assert!(!once.contains("correct"));
        assert_ne!(once, kept("correct horse").unwrap(), "each has its own salt");
        assert!(kept("short").is_err());
        assert!(!is("x", "no colon"));
    }
}
