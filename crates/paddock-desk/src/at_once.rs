//! How much of a long list one answer holds.

use crate::failure::{Failure, Result};

/// How many of a list at once: as many as asked for, or as usual. What is more than can be had is refused: nobody takes a part for the whole.
///
/// # Errors
/// When nothing, or more than `most`, is asked for.
pub fn at_once(limit: Option<usize>, usual: usize, most: usize) -> Result<usize> {
    match limit {
        None => Ok(usual),
        Some(limit) if (1..=most).contains(&limit) => Ok(limit),
        Some(limit) => Err(Failure::misused(format!("{limit} at once cannot be had"), format!("ask for 1 to {most}"))),
    }
}
