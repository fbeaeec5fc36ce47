//! The two forms that the schema is written in: a table with one row per key, and a choice of words.
//!
//! From one row come the Rust field, the reader and the JSON Schema with its description; so none of them can
//! disagree with another.

/// A table of the configuration.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident in $within:literal {
            required { $( $(#[$rmeta:meta])* $rfield:ident $(as $rkey:literal)? : $rty:ty, )* }
            optional { $( $(#[$ometa:meta])* $ofield:ident $(as $okey:literal)? : $oty:ty, )* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[$rmeta])*
                $(#[serde(rename = $rkey)])?
                pub $rfield: $rty,
            )*
            $(
                $(#[$ometa])*
                $(#[serde(rename = $okey)])?
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $ofield: Option<$oty>,
            )*
        }

        impl $name {
            /// Every key that may stand in it.
            pub const KEYS: &[&str] = &[
                $($crate::table::key!($rfield $($rkey)?),)*
                $($crate::table::key!($ofield $($okey)?),)*
            ];
        }

        impl $crate::read::FromToml for $name {
            const IS_TABLE: bool = true;

            fn from_toml(
                value: &$crate::read::Value<'_>,
                reading: &mut $crate::read::Reading<'_>,
            ) -> Option<Self> {
                let fields = reading.fields(value, $within, Self::KEYS)?;
                $(let $rfield = reading.required(&fields, $crate::table::key!($rfield $($rkey)?));)*
                $(let $ofield = reading.optional(&fields, $crate::table::key!($ofield $($okey)?));)*
                Some(Self { $($rfield: $rfield?,)* $($ofield: $ofield?,)* })
            }
        }
    };
}

/// The key of a row: the field's name unless another is given.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// A value that is one of a few words.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema)]
        pub enum $name {
            $( $(#[$vmeta])* #[serde(rename = $word)] $variant, )*
        }

        impl $crate::read::FromToml for $name {
            fn from_toml(
                value: &$crate::read::Value<'_>,
                reading: &mut $crate::read::Reading<'_>,
            ) -> Option<Self> {
                const WORDS: &[&str] = &[$($word),*];
                let written = String::from_toml(value, reading)?;
                match written.as_str() {
                    $($word => Some(Self::$variant),)*
                    other => {
                        let nearest = $crate::nearest::nearest(other, WORDS);
                        let found = other.to_owned();
                        let fault = $crate::fault::Fault::NotAChoice { found, choices: WORDS, nearest };
                        reading.fail(fault, value.span())
                    }
                }
            }
        }
    };
}

pub(crate) use {choice, key, table};
