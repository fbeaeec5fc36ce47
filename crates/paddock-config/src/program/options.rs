//! The options of a program's functions: which there are, and what each has to be.
//!
//! A program says them in a language of its own, so they come here as names and what their values are, in that
//! language's words. What nobody reads would be believed to hold: a misspelt name is refused with the one that was
//! meant. It must never look at a value itself.

use super::ProgramError;
use crate::nearest::nearest;

const STRING: &str = "a string";
const STRINGS: &str = "an array of strings";
const ARRAY: &str = "an array";
const OBJECT: &str = "an object";
const STRING_OBJECT: &str = "an object of strings";
const FUNCTION: &str = "a function";
const NUMBER: &str = "a number";

/// One option.
struct Known {
    name: &'static str,
    is_needed: bool,
    /// What it has to be, for people.
    must_be: &'static str,
    /// What it may be, as the program's language says it.
    takes: &'static [&'static str],
}

const fn may(name: &'static str, must_be: &'static str, takes: &'static [&'static str]) -> Known {
    Known { name, is_needed: false, must_be, takes }
}

const fn needs(name: &'static str, must_be: &'static str, takes: &'static [&'static str]) -> Known {
    Known { name, is_needed: true, must_be, takes }
}

const AGENT: Known = may("agent", STRING, &[STRING]);
const TOOL_NAMES: Known = may("toolNames", "a string or an object of strings", &[STRING, STRING_OBJECT]);
const TIME_LIMIT: Known = may("timeLimit", NUMBER, &[NUMBER]);
const ON_ERROR: Known = may("onError", FUNCTION, &[FUNCTION]);
const BASE: Known = may("base", STRING, &[STRING]);
const GIVEN_MOUNTS: Known = needs("mounts", "an array of Mounts", &[ARRAY, STRINGS]);
const MOUNTS: Known = needs("mounts", "an array of Mounts, or a function that gives one", &[ARRAY, STRINGS, FUNCTION]);
const NAMESPACE: Known = needs("namespace", STRINGS, &[STRINGS]);
const OBJECTS: &[&str] = &[OBJECT, STRING_OBJECT];

/// Every function that takes options, under the name that messages use.
const FUNCTIONS: &[(&str, &[Known])] = &[
    ("createWorkspacesMiddleware", &[MOUNTS, BASE, AGENT, TOOL_NAMES, TIME_LIMIT, ON_ERROR]),
    ("openWorkspaces", &[GIVEN_MOUNTS, BASE, AGENT, TOOL_NAMES, TIME_LIMIT, ON_ERROR]),
    (
        "createCommandsMiddleware",
        &[MOUNTS, BASE, AGENT, TOOL_NAMES, TIME_LIMIT, ON_ERROR, may("commands", OBJECT, OBJECTS)],
    ),
    (
        "fromConfig",
        &[needs("config", STRING, &[STRING]), may("home", STRING, &[STRING]), AGENT, TOOL_NAMES, TIME_LIMIT, ON_ERROR],
    ),
    (
        "a Mount",
        &[
            needs("prefix", STRING, &[STRING]),
            needs("scope", STRING, &[STRING]),
            needs("store", "a Store", OBJECTS),
            may("hide", STRINGS, &[STRINGS]),
        ],
    ),
    ("physicalStore", &[needs("rootDir", STRING, &[STRING])]),
    ("virtualStore", &[may("url", STRING, &[STRING]), NAMESPACE]),
    ("baseStore", &[NAMESPACE]),
];

/// Are these options that a function takes? Each is a name, and what its value is.
///
/// # Errors
/// For the first that is none, is something else, or is missing.
pub fn program_options(function: &str, given: &[(&str, &str)]) -> Result<(), ProgramError> {
    let Some((of, known)) = FUNCTIONS.iter().find(|(name, _)| *name == function) else {
        return Err(ProgramError::NoFunction(function.to_owned()));
    };
    let names = || known.iter().map(|known| known.name).collect::<Vec<_>>();
    for (name, is) in given {
        let Some(known) = known.iter().find(|known| known.name == *name) else {
            let (name, nearest) = ((*name).to_owned(), nearest(name, &names()));
            return Err(ProgramError::UnknownOption { of, name, nearest, known: names() });
        };
        if !known.takes.contains(is) {
            let Known { name, must_be, .. } = known;
            return Err(ProgramError::WrongOption { of, name, must_be, is: (*is).to_owned() });
        }
    }
    let is_given = |known: &Known| given.iter().any(|(name, _)| *name == known.name);
    match known.iter().find(|known| known.is_needed && !is_given(known)) {
        Some(Known { name, must_be, .. }) => Err(ProgramError::MissingOption { of, name, must_be }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(function: &str, given: &[(&str, &str)]) -> String {
        let error = program_options(function, given).unwrap_err();
        format!("{error}; {}", error.hint())
    }

    #[test]
    fn a_misspelt_option_is_refused_with_the_one_that_was_meant() {
        let given = [("mounts", ARRAY), ("toolnames", STRING)];
        assert_eq!(
            told("createWorkspacesMiddleware", &given),
            "createWorkspacesMiddleware has no \"toolnames\"; did you mean \"toolNames\"?"
        );
        assert_eq!(told("a Mount", &[("hdie", STRINGS)]), "a Mount has no \"hdie\"; did you mean \"hide\"?");
        assert_eq!(
            told("virtualStore", &[("database", STRING)]),
            "virtualStore has no \"database\"; it has \"url\", \"namespace\""
        );
        assert_eq!(
            told("fromConfig", &[("config", STRING), ("mounts", ARRAY)]).split(';').next(),
            Some("fromConfig has no \"mounts\"")
        );
    }

    #[test]
    fn an_option_of_another_kind_is_refused_and_so_is_one_that_is_missing() {
        let given = [("mounts", ARRAY), ("agent", NUMBER)];
        assert!(
            told("openWorkspaces", &given).starts_with("\"agent\" of openWorkspaces must be a string, not a number")
        );
        for is in ["null", STRINGS, "a number"] {
            let told = told("openWorkspaces", &[("mounts", ARRAY), ("toolNames", is)]);
            assert!(told.contains(&format!("must be a string or an object of strings, not {is}")), "{told}");
        }
        assert!(told("openWorkspaces", &[("mounts", FUNCTION)]).contains("must be an array of Mounts, not a function"));
        assert!(told("openWorkspaces", &[]).starts_with("openWorkspaces needs \"mounts\""));
    }

    #[test]
    fn what_is_right_is_taken_by_every_function() {
        for (of, known) in FUNCTIONS {
            let all: Vec<(&str, &str)> = known.iter().map(|known| (known.name, known.takes[0])).collect();
            assert!(program_options(of, &all).is_ok(), "{of}");
        }
        assert!(matches!(program_options("nothing", &[]), Err(ProgramError::NoFunction(_))));
    }
}
