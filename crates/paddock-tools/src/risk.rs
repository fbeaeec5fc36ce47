//! How much harm a planned call can do: the risk column of the catalogue.
//!
//! Read from the effects of the plan, and from how much they take away ([`crate::size`]), so that what is asked
//! about is what will happen. In a write-only place the effect is always the same, and so is the risk.

use paddock_core::{Effect, EffectKind, Risk};

/// How risky a call is, and why where that is more than its tool says by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) risk: Risk,
    pub(crate) why: Option<String>,
}

impl From<Risk> for Weight {
    fn from(risk: Risk) -> Self {
        Self { risk, why: None }
    }
}

impl Weight {
    /// High, where there is a reason for that.
    pub(crate) fn raised(self, why: Option<String>) -> Self {
        if why.is_some() { Self { risk: Risk::High, why } } else { self }
    }
}

/// The risk of a plan with these effects.
pub(crate) type RiskOf = fn(&[Effect]) -> Risk;

/// For tools that only look, or only add.
pub(crate) fn low(_: &[Effect]) -> Risk {
    Risk::Low
}

/// For tools that change what is there without removing it.
pub(crate) fn medium(_: &[Effect]) -> Risk {
    Risk::Medium
}

/// For tools that remove.
pub(crate) fn high(_: &[Effect]) -> Risk {
    Risk::High
}

/// For tools that may make something new or replace something, depending on what is there.
pub(crate) fn by_effect(effects: &[Effect]) -> Risk {
    effects.iter().map(|effect| of(effect.what)).max().unwrap_or(Risk::Low)
}

fn of(effect: EffectKind) -> Risk {
    match effect {
        EffectKind::Create | EffectKind::Append | EffectKind::MakeDir => Risk::Low,
        EffectKind::Replace | EffectKind::Deliver | EffectKind::MoveAway | EffectKind::MoveHere | EffectKind::Dress => {
            Risk::Medium
        }
        EffectKind::Delete => Risk::High,
    }
}

#[cfg(test)]
mod tests {
    use paddock_core::LogicalPath;

    use super::*;

    fn effect(what: EffectKind) -> Effect {
        Effect { path: LogicalPath::top(), what, before: None, len: None, was: None }
    }

    #[test]
    fn the_worst_effect_decides() {
        assert_eq!(by_effect(&[]), Risk::Low);
        assert_eq!(by_effect(&[effect(EffectKind::Create)]), Risk::Low);
        assert_eq!(by_effect(&[effect(EffectKind::Append)]), Risk::Low);
        assert_eq!(by_effect(&[effect(EffectKind::Replace)]), Risk::Medium);
        assert_eq!(by_effect(&[effect(EffectKind::Deliver)]), Risk::Medium);
        assert_eq!(by_effect(&[effect(EffectKind::Create), effect(EffectKind::Delete)]), Risk::High);
    }
}
