//! The cases that every client plays, as `tests/clients/cases.json` has them.
//!
//! Owns reading them and judging an answer. Expectations live in the file, never here.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// The sample project, the calls and what must come of them.
#[derive(Debug)]
pub(crate) struct Cases {
    files: BTreeMap<String, String>,
    pub(crate) tools: Vec<String>,
    pub(crate) calls: Vec<Call>,
    host_afterwards: Host,
    host_after_asking: Host,
}

/// What files of the host must hold; nothing where one must be gone.
type Host = BTreeMap<String, Option<String>>;

/// One tool call and what its answer must be.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    error: bool,
    says: Vec<String>,
    never_says: Vec<String>,
}

impl Cases {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text).context("the cases are not JSON")?;
        let calls = value["calls"].as_array().context("the cases have no \"calls\"")?;
        Ok(Self {
            files: text_map(&value["files"])?,
            tools: texts(&value["tools"])?,
            calls: calls.iter().map(Call::parse).collect::<Result<_>>()?,
            host_afterwards: host(&value["host_afterwards"])?,
            host_after_asking: host(&value["host_after_asking"])?,
        })
    }

    /// Writes the sample project.
    pub(crate) fn lay_out(&self, project: &Path) -> Result<()> {
        for (path, content) in &self.files {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap_or(project))?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    pub(crate) fn tool_complaints(&self, listing: &Value) -> Vec<String> {
        let listed = listing["tools"].as_array().into_iter().flatten();
        let mut names: Vec<&str> = listed.filter_map(|tool| tool["name"].as_str()).collect();
        names.sort_unstable();
        if names == self.tools { Vec::new() } else { vec![format!("got {names:?}")] }
    }

    pub(crate) fn host_complaints(&self, project: &Path) -> Vec<String> {
        complaints(&self.host_afterwards, project)
    }

    /// The same where a client played the cases in which its person is asked, too.
    pub(crate) fn host_complaints_after_asking(&self, project: &Path) -> Vec<String> {
        complaints(&self.host_after_asking, project)
    }
}

fn complaints(host: &Host, project: &Path) -> Vec<String> {
    let wrong = host.iter().filter_map(|(path, wanted)| match (fs::read_to_string(project.join(path)), wanted) {
        (Ok(found), Some(wanted)) if found == *wanted => None,
        (Ok(found), _) => Some(format!("\"{path}\" holds {found:?}")),
        (Err(error), None) if error.kind() == ErrorKind::NotFound => None,
        (Err(error), _) => Some(format!("\"{path}\": {error}")),
    });
    wrong.collect()
}

impl Call {
    fn parse(value: &Value) -> Result<Self> {
        let text = |key: &str| {
            value[key].as_str().map(str::to_owned).with_context(|| format!("a call has no \"{key}\": {value}"))
        };
        Ok(Self {
            name: text("name")?,
            tool: text("tool")?,
            arguments: value["arguments"].clone(),
            error: value["error"].as_bool().with_context(|| format!("a call has no \"error\": {value}"))?,
            says: texts(&value["says"])?,
            never_says: texts(&value["never_says"])?,
        })
    }

    /// What is wrong with this result of the call; `result` is as the protocol has it.
    pub(crate) fn complaints(&self, result: &Value) -> Vec<String> {
        let blocks = result["content"].as_array().into_iter().flatten();
        let text: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        let text = text.join("\n");
        let whole = result.to_string();
        let mut found: Vec<String> = Vec::new();
        for word in self.says.iter().filter(|word| !text.contains(word.as_str())) {
            found.push(format!("\"{word}\" is missing from {text:?}"));
        }
        for word in self.never_says.iter().filter(|word| whole.contains(word.as_str())) {
            found.push(format!("\"{word}\" came back"));
        }
        let error = result["isError"].as_bool().unwrap_or(false);
        if error != self.error {
            found.push(format!("isError is {error}, the answer was {text:?}"));
        }
        found
    }
}

fn texts(value: &Value) -> Result<Vec<String>> {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| item.as_str().map(str::to_owned).with_context(|| format!("not a text: {item}"))).collect()
}

fn text_map(value: &Value) -> Result<BTreeMap<String, String>> {
    let pairs = value.as_object().context("not an object of texts")?.iter();
    pairs.map(|(key, item)| Ok((key.clone(), text_of(key, item)?))).collect()
}

fn host(value: &Value) -> Result<Host> {
    let pairs = value.as_object().context("not an object of texts")?.iter();
    pairs
        .map(|(path, item)| Ok((path.clone(), if item.is_null() { None } else { Some(text_of(path, item)?) })))
        .collect()
}

fn text_of(key: &str, item: &Value) -> Result<String> {
    item.as_str().map(str::to_owned).with_context(|| format!("\"{key}\" is not a text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cases() -> Cases {
        let sample = json!({
            "files": { "a/b.txt": "b" },
            "tools": ["read_file"],
            "calls": [{
                "name": "n", "tool": "read_file", "arguments": {}, "error": true,
                "says": ["ERROR"], "never_says": ["secret"],
            }],
            "host_afterwards": { "a/b.txt": "b" },
            "host_after_asking": { "a/b.txt": null },
        });
        Cases::parse(&sample.to_string()).unwrap()
    }

    fn answer(text: &str, error: bool) -> Value {
        json!({ "content": [{ "type": "text", "text": text }], "isError": error })
    }

    #[test]
    fn the_expected_answer_passes() {
        assert!(cases().calls[0].complaints(&answer("an ERROR", true)).is_empty());
    }

    #[test]
    fn each_way_to_be_wrong_is_told() {
        let call = &cases().calls[0];
        assert_eq!(call.complaints(&answer("fine", true)).len(), 1);
        assert_eq!(call.complaints(&answer("ERROR secret", true)).len(), 1);
        assert_eq!(call.complaints(&answer("ERROR", false)).len(), 1);
        let structured =
            json!({ "content": [{ "text": "ERROR" }], "isError": true, "structuredContent": { "x": "secret" } });
        assert_eq!(call.complaints(&structured).len(), 1);
    }

    #[test]
    fn the_tools_must_match_exactly() {
        let listing =
            |names: &[&str]| json!({ "tools": names.iter().map(|n| json!({ "name": n })).collect::<Vec<_>>() });
        assert!(cases().tool_complaints(&listing(&["read_file"])).is_empty());
        assert!(!cases().tool_complaints(&listing(&["read_file", "write_file"])).is_empty());
        assert!(!cases().tool_complaints(&listing(&[])).is_empty());
    }

    #[test]
    fn the_host_is_compared_byte_for_byte() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(cases().host_complaints(place.path()).len(), 1);
        cases().lay_out(place.path()).unwrap();
        assert!(cases().host_complaints(place.path()).is_empty());
        fs::write(place.path().join("a/b.txt"), "c").unwrap();
        assert_eq!(cases().host_complaints(place.path()).len(), 1);
    }

    #[test]
    fn what_must_be_gone_must_not_be_there() {
        let place = tempfile::tempdir().unwrap();
        assert!(cases().host_complaints_after_asking(place.path()).is_empty());
        cases().lay_out(place.path()).unwrap();
        assert_eq!(cases().host_complaints_after_asking(place.path()).len(), 1);
    }

    #[test]
    fn the_cases_of_this_checkout_parse() {
        let text = crate::repo::Repo::here().read("tests/clients/cases.json").unwrap();
        assert!(!Cases::parse(&text).unwrap().calls.is_empty());
    }
}
