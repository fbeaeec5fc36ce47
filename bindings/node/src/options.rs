//! What a program says in options, as far as the names and the kinds of it go.

use napi::Result;
use napi_derive::napi;
use paddock_config::program_options;

use crate::place::told_with;

/// An option as it was given.
#[napi(object)]
pub struct GivenOption {
    /// Its name.
    pub name: String,
    /// What its value is, in words: `a string`, `an array of strings`.
    pub is: String,
}

/// Throws where a function takes no such options: one that it does not know, one that is something else, one that is missing.
#[napi]
pub fn check_options(of: String, given: Vec<GivenOption>) -> Result<()> {
    let given: Vec<(&str, &str)> = given.iter().map(|option| (&*option.name, &*option.is)).collect();
    program_options(&of, &given).map_err(|error| told_with(&error, error.hint()))
}
