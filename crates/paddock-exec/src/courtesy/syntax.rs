//! From the tree of a parsed text to its commands: every place in the grammar where a command can stand.
//!
//! A match over all kinds of nodes, so that a new version of the parser cannot add a place that is overlooked.

use rable::ast::{Node, NodeKind};

use super::{Reader, Word};

impl Reader<'_> {
    /// The first refused word below a node.
    pub(super) fn node(&self, node: &Node, nesting: usize) -> Option<String> {
        let one = |node: &Node| self.node(node, nesting);
        let all = |nodes: &[Node]| nodes.iter().find_map(one);
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                let said: Vec<Word> = words.iter().flat_map(said).collect();
                self.command(&said, redirects, nesting)
                    .or_else(|| all(assignments))
                    .or_else(|| all(words))
                    .or_else(|| all(redirects))
            }
            NodeKind::Word { value, parts, .. } => all(parts).or_else(|| self.arithmetic(value, parts, nesting)),
            NodeKind::Pipeline { commands, .. } => all(commands),
            NodeKind::List { items } => items.iter().find_map(|item| one(&item.command)),
            NodeKind::If { condition, then_body, else_body, redirects } => one(condition)
                .or_else(|| one(then_body))
                .or_else(|| else_body.as_deref().and_then(one))
                .or_else(|| all(redirects)),
            NodeKind::While { condition, body, redirects } | NodeKind::Until { condition, body, redirects } => {
                one(condition).or_else(|| one(body)).or_else(|| all(redirects))
            }
            NodeKind::For { words, body, redirects, .. } | NodeKind::Select { words, body, redirects, .. } => {
                words.as_deref().and_then(all).or_else(|| one(body)).or_else(|| all(redirects))
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => [init, cond, incr]
                .into_iter()
                .find_map(|text| self.within(text, nesting))
                .or_else(|| one(body))
                .or_else(|| all(redirects)),
            NodeKind::Case { word, patterns, redirects } => one(word)
                .or_else(|| patterns.iter().find_map(|pattern| pattern.body.as_ref().and_then(one)))
                .or_else(|| patterns.iter().find_map(|pattern| all(&pattern.patterns)))
                .or_else(|| all(redirects)),
            NodeKind::Function { body, .. } => one(body),
            NodeKind::Subshell { body, redirects }
            | NodeKind::BraceGroup { body, redirects }
            | NodeKind::ConditionalExpr { body, redirects } => one(body).or_else(|| all(redirects)),
            NodeKind::Coproc { command, .. }
            | NodeKind::CommandSubstitution { command, .. }
            | NodeKind::ProcessSubstitution { command, .. } => one(command),
            NodeKind::Redirect { target, .. } => one(target),
            NodeKind::HereDoc { content, quoted: false, .. } => self.within(content, nesting),
            NodeKind::ParamExpansion { arg: Some(arg), .. } | NodeKind::ParamIndirect { arg: Some(arg), .. } => {
                self.within(arg, nesting)
            }
            NodeKind::ArithmeticExpansion { expression } => expression.as_deref().and_then(one),
            NodeKind::ArithmeticCommand { raw_content, .. } => self.within(raw_content, nesting),
            NodeKind::ArithDeprecated { expression } => self.within(expression, nesting),
            NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => one(operand),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => one(left).or_else(|| one(right)),
            NodeKind::CondParen { inner } => one(inner),
            NodeKind::CondTerm { value, .. } => self.within(value, nesting),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => one(pipeline),
            NodeKind::Array { elements } => all(elements),
            _ => None,
        }
    }

    /// Arithmetic that the parser does not take apart is looked through as text.
    fn arithmetic(&self, value: &str, parts: &[Node], nesting: usize) -> Option<String> {
        let is = |part: &Node| matches!(part.kind, NodeKind::ArithmeticExpansion { expression: None });
        parts.iter().any(is).then(|| self.within(&value.replace("$((", "  ").replace("))", "  "), nesting)).flatten()
    }

    /// Substitutions within a text that the parser keeps as it stands.
    fn within(&self, text: &str, nesting: usize) -> Option<String> {
        let has = text.contains("$(") || text.contains('`');
        has.then(|| self.text(&format!(": {}", text.replace('\n', " ")), nesting)).flatten()
    }
}

/// What a word says; a brace list says several words.
fn said(word: &Node) -> Vec<Word> {
    let NodeKind::Word { value, parts, .. } = &word.kind else { return vec![None] };
    if let [Node { kind: NodeKind::BraceExpansion { content }, .. }] = parts.as_slice() {
        let inner = content.trim_start_matches('{').trim_end_matches('}');
        return inner.split(',').map(|word| Some(unquoted(word))).collect();
    }
    let mut text = String::new();
    for part in parts {
        match &part.kind {
            NodeKind::WordLiteral { value } => text.push_str(&unquoted(value)),
            NodeKind::AnsiCQuote { decoded, .. } => text.push_str(decoded),
            NodeKind::LocaleString { inner, .. } => text.push_str(&unquoted(inner)),
            _ => return vec![None],
        }
    }
    vec![Some(if parts.is_empty() { unquoted(value) } else { text })]
}

/// A literal without its quotes and backslashes.
fn unquoted(text: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            ('\\', None | Some('"')) => plain.extend(characters.next().filter(|next| *next != '\n')),
            _ => plain.push(character),
        }
    }
    plain
}
