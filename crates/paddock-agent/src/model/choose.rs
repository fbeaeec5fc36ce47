//! Which model a person means: `openai:NAME`, `anthropic:NAME`, `compatible:NAME`, `script:FILE`.
//!
//! Everything that can be wrong with the choice is told here, before a run begins. A key comes as a value that nothing prints.

use std::fmt;
use std::sync::Arc;

use paddock_core::{BearerToken, Cancel};

use super::Model;
use super::anthropic::AnthropicModel;
use super::http::address::{BadUrl, BaseUrl};
use super::http::{LONGEST_ANSWER, Service};
use super::openai::OpenAiModel;
use super::retry::Patience;
use super::script::{BadScript, ScriptedModel};

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com";

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSpec {
    /// A model of OpenAI.
    OpenAi(String),
    /// A model of Anthropic.
    Anthropic(String),
    /// A model of a service that speaks as OpenAI does.
    Compatible(String),
    /// The answers of a file.
    Script(String),
}

/// Why there is no such model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// It is none of the kinds there are.
    #[error("\"{0}\" names no model")]
    NoSuchKind(String),
    /// The name is missing.
    #[error("\"{0}\" does not say which one")]
    NoName(String),
    /// The service has to be named.
    #[error("\"{0}\" needs the address of its service")]
    NoBaseUrl(String),
    /// A script is no service.
    #[error("\"{0}\" is a file, and has neither a base_url nor a key")]
    ScriptAlone(String),
    /// The address is none.
    #[error(transparent)]
    BaseUrl(#[from] BadUrl),
    /// The service wants a key.
    #[error("\"{0}\" needs a key")]
    NoKey(String),
    /// The key cannot be one. It is not repeated here.
    #[error("the key for \"{0}\" is empty, or has spaces or other characters that no key has")]
    BadKey(String),
    /// The file of a script cannot be read.
    #[error("the script \"{file}\" cannot be read: {why}")]
    Unread {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
    /// The file is no script.
    #[error("the script \"{file}\": {bad}")]
    BadScript {
        /// Which.
        file: String,
        /// What is wrong with it.
        bad: BadScript,
    },
}

impl ChooseError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoSuchKind(_) => {
                "write openai:NAME, anthropic:NAME, compatible:NAME (with base_url) or script:FILE".to_owned()
            }
            Self::NoName(spec) => format!("write the model's name after it, as in {spec}NAME"),
            Self::NoBaseUrl(_) => "say where it is: base_url = \"http://127.0.0.1:11434/v1\" in [model]".to_owned(),
            Self::ScriptAlone(_) => "take base_url and key out of [model]".to_owned(),
            Self::BaseUrl(bad) => bad.hint().to_owned(),
            Self::NoKey(_) => {
                "`paddock secret set NAME` keeps one; then key = { secret = \"NAME\" } in [model]".to_owned()
            }
            Self::BadKey(_) => "`paddock secret set NAME` keeps it anew; paste the key alone".to_owned(),
            Self::Unread { .. } => "name a file of JSON lines, relative to the Project Root".to_owned(),
            Self::BadScript { .. } => "each line is one answer: {\"content\": \"…\"}".to_owned(),
        }
    }
}

impl ModelSpec {
    /// Reads what a person wrote.
    ///
    /// # Errors
    /// When it names no model.
    pub fn parse(spec: &str) -> Result<Self, ChooseError> {
        let unknown = || ChooseError::NoSuchKind(spec.to_owned());
        let (kind, name) = spec.trim().split_once(':').ok_or_else(unknown)?;
        let make = match kind {
            "openai" => Self::OpenAi,
            "anthropic" => Self::Anthropic,
            "compatible" => Self::Compatible,
            "script" => Self::Script,
            _ => return Err(unknown()),
        };
        let name = name.trim();
        if name.is_empty() { Err(ChooseError::NoName(format!("{kind}:"))) } else { Ok(make(name.to_owned())) }
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Anthropic(name) => write!(f, "anthropic:{name}"),
            Self::Compatible(name) => write!(f, "compatible:{name}"),
            Self::Script(file) => write!(f, "script:{file}"),
        }
    }
}

/// What belongs to a choice beside its name, address and key.
#[derive(Debug, Clone)]
pub struct ChooseOptions {
    /// A person's word that key and conversation may go over plain HTTP to another machine.
    pub plain_http: bool,
    /// The longest answer in tokens, where the protocol wants that told.
    pub longest_answer: u32,
    /// How long a model may take, and how often it is asked.
    pub patience: Patience,
    /// Stops what is under way.
    pub cancel: Arc<Cancel>,
}

impl Default for ChooseOptions {
    fn default() -> Self {
        Self {
            plain_http: false,
            longest_answer: LONGEST_ANSWER,
            patience: Patience::default(),
            cancel: Arc::default(),
        }
    }
}

/// A model that was chosen.
pub struct Chosen {
    /// Whom to ask.
    pub model: Arc<dyn Model>,
    /// The same where it is a script, so that a resumed run can skip what it has had.
    pub script: Option<Arc<ScriptedModel>>,
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

/// The model that is meant. `read` gives the text of a script's file: files are not opened here.
///
/// # Errors
/// When something about the choice is wrong.
pub fn choose(
    spec: &str,
    base_url: Option<&str>,
    key: Option<BearerToken>,
    options: &ChooseOptions,
    read: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Chosen, ChooseError> {
    let spec = ModelSpec::parse(spec)?;
    let (name, usual) = match &spec {
        ModelSpec::Script(file) if base_url.is_none() && key.is_none() => return script(file, read),
        ModelSpec::Script(_) => return Err(ChooseError::ScriptAlone(spec.to_string())),
        ModelSpec::OpenAi(name) => (name, Some(OPENAI)),
        ModelSpec::Anthropic(name) => (name, Some(ANTHROPIC)),
        ModelSpec::Compatible(name) => (name, None),
    };
    let url = base_url.or(usual).ok_or_else(|| ChooseError::NoBaseUrl(spec.to_string()))?;
    // A service that somebody else runs may want none; it says so itself.
    if base_url.is_none() && key.is_none() {
        return Err(ChooseError::NoKey(spec.to_string()));
    }
    let is_one = |key: &BearerToken| !key.expose().is_empty() && key.expose().chars().all(|c| c.is_ascii_graphic());
    if key.as_ref().is_some_and(|key| !is_one(key)) {
        return Err(ChooseError::BadKey(spec.to_string()));
    }
    let service = Service {
        called: spec.to_string(),
        model: name.clone(),
        base_url: BaseUrl::parse(url, options.plain_http)?,
        key,
        longest_answer: options.longest_answer,
        patience: options.patience.clone(),
        cancel: Arc::clone(&options.cancel),
    };
    let model: Arc<dyn Model> = match &spec {
        ModelSpec::Anthropic(_) => Arc::new(AnthropicModel::new(service)),
        _ => Arc::new(OpenAiModel::new(service)),
    };
    Ok(Chosen { model, script: None })
}

fn script(file: &str, read: &dyn Fn(&str) -> std::io::Result<String>) -> Result<Chosen, ChooseError> {
    let text = read(file).map_err(|error| ChooseError::Unread { file: file.to_owned(), why: error.to_string() })?;
    let script = ScriptedModel::parse(&text).map_err(|bad| ChooseError::BadScript { file: file.to_owned(), bad })?;
    let script = Arc::new(script);
    Ok(Chosen { model: Arc::clone(&script) as Arc<dyn Model>, script: Some(script) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(spec: &str, base_url: Option<&str>, key: Option<&str>) -> Result<Chosen, ChooseError> {
        let read = |file: &str| match file {
            "good" => Ok("{\"content\":\"hi\"}".to_owned()),
            "bad" => Ok("hi".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        choose(spec, base_url, key.map(BearerToken::new), &ChooseOptions::default(), &read)
    }

    #[test]
    fn each_kind_is_found_by_its_name() {
        for (spec, url) in [
            ("openai:gpt-5", None),
            ("anthropic:claude-sonnet-4-5", None),
            ("openai:gpt-5", Some("https://gateway.example/v1")),
            ("compatible:qwen3:8b", Some("http://127.0.0.1:11434/v1")),
        ] {
            assert_eq!(chosen(spec, url, Some("k")).unwrap().model.name(), spec);
        }
        assert!(chosen("compatible:qwen3:8b", Some("http://127.0.0.1:11434/v1"), None).is_ok());
        assert!(chosen("script:good", None, None).unwrap().script.is_some());
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_do() {
        let plain = "http://models.example/v1";
        let cases: [(&str, Option<&str>, Option<&str>, &str); 12] = [
            ("gpt-5", None, Some("k"), "names no model"),
            ("gemini:pro", None, Some("k"), "names no model"),
            ("openai:", None, Some("k"), "does not say which"),
            ("openai:gpt-5", None, None, "needs a key"),
            ("anthropic:c", None, Some(""), "is empty"),
            ("anthropic:c", None, Some("se cret"), "is empty, or has spaces"),
            ("compatible:x", None, Some("k"), "needs the address"),
            ("compatible:x", Some(plain), Some("k"), "plain HTTP"),
            ("compatible:x", Some("models.example"), Some("k"), "no address"),
            ("script:good", Some(plain), None, "is a file"),
            ("script:gone", None, None, "cannot be read"),
            ("script:bad", None, None, "line 1"),
        ];
        for (spec, url, key, told) in cases {
            let error = chosen(spec, url, key).unwrap_err();
            assert!(error.to_string().contains(told) && !error.hint().is_empty(), "{spec}: {error}");
            assert!(!format!("{error} {error:?}").contains("se cret"));
        }
        let trusted = ChooseOptions { plain_http: true, ..ChooseOptions::default() };
        assert!(choose("compatible:x", Some(plain), None, &trusted, &|_| Ok(String::new())).is_ok());
    }

    #[test]
    fn nothing_prints_a_key() {
        let service = Service {
            called: "openai:x".into(),
            model: "x".into(),
            base_url: BaseUrl::parse(OPENAI, false).unwrap(),
            key: Some(BearerToken::new("sk-very-secret")),
            longest_answer: 1,
            patience: Patience::default(),
            cancel: Arc::default(),
        };
        let shown =
            format!("{service:?} {:?} {:?}", OpenAiModel::new(service.clone()), AnthropicModel::new(service.clone()));
        assert!(!shown.contains("very-secret"), "{shown}");
    }
}
