//! JSON Schemas of tool arguments, as lean as a model can be given them.
//!
//! Derived from the argument types by schemars and stripped of what only costs tokens: titles,
//! integer formats, `null` as a type of what is optional anyway.

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A JSON Schema object, shared.
pub(crate) type Schema = Arc<Map<String, Value>>;

/// The schema of one argument type.
pub(crate) fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    slim(&mut schema);
    let Value::Object(mut schema) = schema else { return Arc::default() };
    // The tool's own description says it.
    schema.remove("description");
    Arc::new(schema)
}

fn slim(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for noise in ["title", "format", "default"] {
        schema.remove(noise);
    }
    if let Some(Value::Array(types)) = schema.get("type")
        && let [one, Value::String(null)] = types.as_slice()
        && null == "null"
    {
        let one = one.clone();
        schema.insert("type".to_owned(), one);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(slim);
    }
    if let Some(items) = schema.get_mut("items") {
        slim(items);
    }
}
