//! References to secrets: `{ secret = "NAME" }` in the place of a value.
//!
//! The file names a secret and never holds it. What is behind the name is looked up when it is about to be used, so that a
//! file can be checked, shown and changed without it.

use std::borrow::Cow;

use paddock_state::SecretName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::values::{DatabaseUrl, ServiceUrl, StateUrl, is_postgres, is_service};
use crate::fault::Fault;
use crate::read::{FromToml, Reading, Value};
use crate::source::Located;
use crate::table::table;

table! {
    /// A secret by name: { secret = "openai" }. Its value is never in this file.
    pub struct SecretRef in "in this reference" {
        required {
            /// The name that the secret is stored under.
            secret: NameOfSecret,
        }
        optional {}
    }
}

/// The name of a secret as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameOfSecret(pub SecretName);

impl FromToml for NameOfSecret {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        match SecretName::parse(&String::from_toml(value, reading)?) {
            Ok(name) => Some(Self(name)),
            Err(error) => reading.fail(Fault::NotASecretName(error), value.span()),
        }
    }
}

impl Serialize for NameOfSecret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for NameOfSecret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SecretName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": SecretName::PATTERN })
    }
}

/// A place that holds a secret: a reference, never the value itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretKey(pub Located<SecretRef>);

impl FromToml for SecretKey {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        if value.get_ref().is_str() {
            let key = reading.key();
            return reading.fail(Fault::PlainSecret { key }, value.span());
        }
        Located::from_toml(value, reading).map(Self)
    }
}

impl Serialize for SecretKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for SecretKey {
    fn inline_schema() -> bool {
        SecretRef::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        SecretRef::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        SecretRef::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SecretRef::json_schema(generator)
    }
}

/// A value as it is written, or the secret that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretOr<T> {
    /// It stands in the file.
    Plain(T),
    /// It is stored under this name.
    Secret(Located<SecretRef>),
}

/// What the text of a secret can be used as.
pub trait OfSecret: Sized {
    /// What it has to be, as messages say it.
    const WHAT: &str;

    /// The value that this text is.
    fn of_secret(text: &str) -> Option<Self>;
}

impl OfSecret for String {
    const WHAT: &str = "a text";

    fn of_secret(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl OfSecret for DatabaseUrl {
    const WHAT: &str = "the address of a server, \"postgres://…\"";

    fn of_secret(text: &str) -> Option<Self> {
        is_postgres(text).then(|| Self(text.to_owned()))
    }
}

impl OfSecret for StateUrl {
    const WHAT: &str = DatabaseUrl::WHAT;

    fn of_secret(text: &str) -> Option<Self> {
        is_postgres(text).then(|| Self(text.to_owned()))
    }
}

impl OfSecret for ServiceUrl {
    const WHAT: &str = "the address of a service, http:// or https:// and a host";

    fn of_secret(text: &str) -> Option<Self> {
        is_service(text).then(|| Self(text.trim_end_matches('/').to_owned()))
    }
}

impl<T> SecretOr<T> {
    /// The value, where it stands in the file.
    pub fn plain(&self) -> Option<&T> {
        match self {
            Self::Plain(value) => Some(value),
            Self::Secret(_) => None,
        }
    }
}

impl<T: FromToml> FromToml for SecretOr<T> {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        if value.get_ref().is_table() {
            return Located::from_toml(value, reading).map(Self::Secret);
        }
        T::from_toml(value, reading).map(Self::Plain)
    }
}

impl<T: Serialize> Serialize for SecretOr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(value) => value.serialize(serializer),
            Self::Secret(name) => name.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for SecretOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrSecret", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (plain, secret) = (generator.subschema_for::<T>(), generator.subschema_for::<SecretRef>());
        json_schema!({ "anyOf": [plain, secret] })
    }
}
