//! Amounts of money, kept as whole millionths: what is counted with them is exact.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::fault::Fault;
use crate::read::{FromToml, Reading, Value};

/// Digits after the point.
const DECIMALS: usize = 6;

/// An amount in some money, in millionths of its unit: `2`, `1.25` or `"0.075"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub u64);

impl Money {
    /// Reads a number with at most six digits after the point.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || part.len() > DECIMALS {
            return None;
        }
        let millionths: u64 = format!("{part:0<DECIMALS$}").parse().ok()?;
        whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(millionths).map(Self)
    }
}

impl FromToml for Money {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let written = value.get_ref();
        let text = match (written.as_str(), written.as_float(), written.as_integer()) {
            (Some(text), ..) => text.to_owned(),
            (_, Some(number), _) => number.as_str().to_owned(),
            (.., Some(number)) if number.radix() == 10 => number.as_str().to_owned(),
            _ => return reading.wrong_type(value, "an amount such as 1.25"),
        };
        match Self::parse(&text) {
            Some(amount) => Some(amount),
            None => reading.fail(Fault::NotAnAmount(text), value.span()),
        }
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:06}", self.0 % 1_000_000);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / 1_000_000),
            part => write!(f, "{}.{part}", self.0 / 1_000_000),
        }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Money {
    fn schema_name() -> Cow<'static, str> {
        "Money".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An amount of money, with at most six digits after the point.",
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,6})?$" },
            ],
        })
    }
}

/// The word for a money: `USD`, `EUR`, `credits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Currency(pub String);

impl FromToml for Currency {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let found = String::from_toml(value, reading)?;
        let is_word = (1..=16).contains(&found.len()) && found.chars().all(|c| c.is_ascii_alphabetic());
        if is_word { Some(Self(found)) } else { reading.fail(Fault::NotACurrency(found), value.span()) }
    }
}

impl JsonSchema for Currency {
    fn schema_name() -> Cow<'static, str> {
        "Currency".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The word for a money.", "type": "string", "pattern": "^[A-Za-z]{1,16}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_written_as_people_write_them() {
        for (text, millionths, shown) in [
            ("2", 2_000_000, "2"),
            ("1.25", 1_250_000, "1.25"),
            ("0.075", 75_000, "0.075"),
            ("0.000001", 1, "0.000001"),
            ("10.00", 10_000_000, "10"),
        ] {
            let amount = Money::parse(text).unwrap();
            assert_eq!((amount.0, amount.to_string().as_str()), (millionths, shown));
        }
        for bad in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1.0000001", "1,5", "inf", "18446744073709551615"] {
            assert_eq!(Money::parse(bad), None, "{bad}");
        }
    }
}
