//! What a model costs, where the configuration says so: whole millionths of a unit of some money, never a fraction of a number.
//!
//! An answer keeps what it cost at the prices of then, so that what was spent stays what it was when prices change.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Usage;

/// What a million tokens cost, in millionths of a unit of the currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    /// Of questions.
    pub input: u64,
    /// Of what a service had kept of them; nothing: as much as the rest.
    pub cached: Option<u64>,
    /// Of answers.
    pub output: u64,
    /// The money.
    pub currency: String,
}

impl Prices {
    /// What that much costs; a part of a millionth counts as a whole one.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> Cost {
        let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let input = of(usage.input_tokens - cached, self.input) + of(cached, self.cached.unwrap_or(self.input));
        let micros = (input + of(usage.output_tokens, self.output)).div_ceil(1_000_000);
        self.amount(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// So much of the money that these prices are in.
    #[must_use]
    pub fn amount(&self, micros: u64) -> Cost {
        Cost { micros, currency: self.currency.clone() }
    }
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// In millionths of a unit.
    pub micros: u64,
    /// Of this money.
    pub currency: String,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.micros.div_ceil(100);
        write!(f, "{}.{:04} {}", parts / 10_000, parts % 10_000, self.currency)
    }
}

/// What was spent: an amount for each money, since a configuration may name another one while a run waits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Costs(pub Vec<Cost>);

impl Costs {
    /// Is nothing known?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts one more.
    pub fn add(&mut self, cost: &Cost) {
        match self.0.iter_mut().find(|known| known.currency == cost.currency) {
            Some(known) => known.micros = known.micros.saturating_add(cost.micros),
            None => self.0.push(cost.clone()),
        }
    }

    /// Is that much of that money spent?
    #[must_use]
    pub fn reach(&self, most: &Cost) -> bool {
        self.0.iter().any(|known| known.currency == most.currency && known.micros >= most.micros)
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told: Vec<String> = self.0.iter().map(Cost::to_string).collect();
        f.write_str(&told.join(" + "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(currency: &str) -> Prices {
        Prices { input: 1_250_000, cached: Some(125_000), output: 10_000_000, currency: currency.to_owned() }
    }

    fn usage(input_tokens: u64, cached_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, cached_tokens, output_tokens }
    }

    #[test]
    fn what_tokens_cost_is_counted_up() {
        let cost = prices("USD").cost(usage(1000, 0, 100));
        assert_eq!((cost.micros, cost.to_string().as_str()), (2250, "0.0023 USD"));
        assert_eq!(prices("USD").cost(usage(1000, 800, 100)).micros, 250 + 100 + 1000);
        assert_eq!(prices("USD").cost(usage(1, 0, 0)).micros, 2, "a part of a millionth is one");
        let alike = Prices { cached: None, ..prices("USD") };
        assert_eq!(alike.cost(usage(1000, 800, 100)).micros, 2250);
        assert_eq!(prices("USD").cost(usage(u64::MAX, 0, u64::MAX)).micros, u64::MAX);
    }

    #[test]
    fn each_money_is_counted_by_itself() {
        let mut costs = Costs::default();
        for (currency, micros) in [("USD", 40), ("EUR", 7), ("USD", 60)] {
            costs.add(&prices(currency).amount(micros));
        }
        assert_eq!(costs.to_string(), "0.0001 USD + 0.0001 EUR");
        assert!(costs.reach(&prices("USD").amount(100)) && !costs.reach(&prices("USD").amount(101)));
        assert!(!costs.reach(&prices("EUR").amount(100)));
    }
}
