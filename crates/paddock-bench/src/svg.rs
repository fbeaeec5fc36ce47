//! Drawing: figures as dots on one scale that counts in times, better to the right, as the text of an SVG file.
//!
//! The drawing brings its own background and both its themes, has words instead of outlines, and runs nothing. What is the same draws
//! the same. It must never let a name in unescaped.

use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
/// Where the names begin, the scale is, and the words about a figure begin.
const NAMES: f64 = 16.0;
const SCALE: (f64, f64) = (440.0, 760.0);
const TOLD: f64 = 776.0;
const ROW: f64 = 20.0;
const HEAD: f64 = 64.0;
const FOOT: f64 = 56.0;
/// Longer names would run into the scale.
const LONGEST_NAME: usize = 66;
/// Further out than this is drawn at the edge; the words beside it tell the figure.
const FURTHEST: f64 = 10_000.0;

const STYLE: &str = "\
.back{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}.one{stroke:#59636e}.goal{stroke:#1f2328}\
.met{fill:#1a7f37}.missed{fill:#bc4c00}.plain{fill:#0969da}\
@media (prefers-color-scheme:dark){.back{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.grid{stroke:#3d444d}\
.one{stroke:#9198a1}.goal{stroke:#f0f6fc}.met{fill:#3fb950}.missed{fill:#f0883e}.plain{fill:#58a6ff}}\
text{font:12px system-ui,sans-serif}.title{font-size:15px;font-weight:600}.group{font-weight:600}";

/// What becomes of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Met,
    Missed,
    /// There was none.
    Unset,
}

impl Goal {
    fn class(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Unset => "plain",
        }
    }
}

/// One figure.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    pub(crate) name: String,
    /// How many times better than the line in the middle.
    pub(crate) times: f64,
    /// Where the goal is on the same scale.
    pub(crate) goal_at: Option<f64>,
    pub(crate) goal: Goal,
    pub(crate) told: String,
}

/// A drawing.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the whole of it says, for those who do not see it.
    pub(crate) says: String,
    /// What left and right of the line mean.
    pub(crate) sides: [&'static str; 2],
    /// Figures under a heading, which may be empty.
    pub(crate) groups: Vec<(String, Vec<Dot>)>,
}

/// The scale: times one in the middle or wherever the figures put it.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Wide enough for every figure and every goal.
    fn of(chart: &Chart) -> Self {
        let dots = chart.groups.iter().flat_map(|(_, dots)| dots);
        let places = dots.flat_map(|dot| [Some(dot.times), dot.goal_at]).flatten().map(within);
        let (low, high) = places.fold((0.5, 2.0), |(low, high): (f64, f64), at| (low.min(at), high.max(at)));
        Self { low: low.log10() - 0.08, high: high.log10() + 0.08 }
    }

    fn x(&self, times: f64) -> f64 {
        let part = (within(times).log10() - self.low) / (self.high - self.low);
        SCALE.0 + part * (SCALE.1 - SCALE.0)
    }

    /// Where lines stand: fewer of them where the scale is long.
    fn marks(&self) -> Vec<f64> {
        let digits: &[f64] = match self.high - self.low {
            short if short < 1.5 => &[1.0, 2.0, 5.0],
            middling if middling < 3.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let up = (0..=4).flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        let up: Vec<f64> = up.collect();
        // The same numbers on the other side of one.
        let down = up.iter().skip(1).map(|mark| 1.0 / mark);
        let all = down.chain(up.iter().copied());
        all.filter(|mark| (self.low..=self.high).contains(&mark.log10())).collect()
    }
}

fn within(times: f64) -> f64 {
    if times.is_nan() { 1.0 } else { times.clamp(1.0 / FURTHEST, FURTHEST) }
}

/// The text of the file.
pub(crate) fn svg(chart: &Chart) -> String {
    let scale = Scale::of(chart);
    let rows: usize = chart.groups.iter().map(|(heading, dots)| dots.len() + usize::from(!heading.is_empty())).sum();
    #[allow(clippy::cast_precision_loss)]
    let bottom = HEAD + rows as f64 * ROW;
    let height = bottom + FOOT;
    let (title, says) = (escaped(&chart.title), escaped(&chart.says));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-labelledby=\"title says\">\n<title id=\"title\">{title}</title>\n\
         <desc id=\"says\">{says}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" rx=\"6\"/>\n"
    );
    text(&mut out, (NAMES, 26.0), "ink title", "start", &chart.title);
    axis(&mut out, chart, &scale, bottom);
    let mut y = HEAD + ROW / 2.0;
    for (heading, dots) in &chart.groups {
        if !heading.is_empty() {
            text(&mut out, (NAMES, y + 4.0), "soft group", "start", heading);
            y += ROW;
        }
        for dot in dots {
            draw(&mut out, dot, &scale, y);
            y += ROW;
        }
    }
    legend(&mut out, chart, bottom + 36.0);
    out.push_str("</svg>\n");
    out
}

fn axis(out: &mut String, chart: &Chart, scale: &Scale, bottom: f64) {
    for mark in scale.marks() {
        let (x, class) = (scale.x(mark), if is_one(mark) { "one" } else { "grid" });
        let _ = writeln!(
            out,
            "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>",
            HEAD - 4.0
        );
        text(out, (x, bottom + 14.0), "soft", "middle", &mark_name(mark));
    }
    let one = scale.x(1.0);
    text(out, (one - 8.0, HEAD - 10.0), "soft", "end", &format!("← {}", chart.sides[0]));
    text(out, (one + 8.0, HEAD - 10.0), "soft", "start", &format!("{} →", chart.sides[1]));
}

fn is_one(mark: f64) -> bool {
    (mark - 1.0).abs() < 1e-9
}

/// `÷10` is ten times worse.
fn mark_name(mark: f64) -> String {
    if mark < 0.999 { format!("÷{:.0}", 1.0 / mark) } else { format!("{mark:.0}×") }
}

fn draw(out: &mut String, dot: &Dot, scale: &Scale, y: f64) {
    let (x, one, class) = (scale.x(dot.times), scale.x(1.0), dot.goal.class());
    text(out, (NAMES, y + 4.0), "ink", "start", &shortened(&dot.name));
    let (from, width) = (x.min(one), (x - one).abs());
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"4\" opacity=\"0.45\"/>",
        y - 2.0
    );
    if let Some(goal) = dot.goal_at {
        let at = scale.x(goal);
        let (above, below) = (y - 8.0, y + 8.0);
        let _ = writeln!(
            out,
            "<line class=\"goal\" stroke-width=\"2\" x1=\"{at:.1}\" y1=\"{above:.1}\" x2=\"{at:.1}\" y2=\"{below:.1}\"/>"
        );
    }
    shape(out, dot.goal, x, y);
    text(out, (TOLD, y + 4.0), "ink", "start", &dot.told);
}

/// A missed goal has another shape, for those who do not see its colour.
fn shape(out: &mut String, goal: Goal, x: f64, y: f64) {
    let class = goal.class();
    let _ = match goal {
        Goal::Missed => {
            let (left, right, above, below) = (x - 6.0, x + 6.0, y - 6.0, y + 6.0);
            writeln!(
                out,
                "<path class=\"{class}\" d=\"M{x:.1} {above:.1} {right:.1} {y:.1} {x:.1} {below:.1} {left:.1} {y:.1}z\"/>"
            )
        }
        Goal::Met | Goal::Unset => writeln!(out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"),
    };
}

/// What the shapes mean that are there.
fn legend(out: &mut String, chart: &Chart, y: f64) {
    let has = |what: &dyn Fn(&Dot) -> bool| chart.groups.iter().any(|(_, dots)| dots.iter().any(what));
    for (x, goal, meaning) in
        [(22.0, Goal::Met, "goal met"), (112.0, Goal::Missed, "goal missed"), (222.0, Goal::Unset, "no goal was set")]
    {
        if !has(&|dot| dot.goal == goal) {
            continue;
        }
        shape(out, goal, x, y);
        text(out, (x + 12.0, y + 4.0), "soft", "start", meaning);
    }
    if !has(&|dot| dot.goal_at.is_some()) {
        return;
    }
    let (above, below) = (y - 8.0, y + 8.0);
    let _ = writeln!(
        out,
        "<line class=\"goal\" stroke-width=\"2\" x1=\"352\" y1=\"{above:.1}\" x2=\"352\" y2=\"{below:.1}\"/>"
    );
    text(out, (362.0, y + 4.0), "soft", "start", "the goal");
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, anchor: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    let kept: String = name.chars().take(LONGEST_NAME - 1).collect();
    format!("{}…", kept.trim_end())
}

/// A text as XML may hold it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => out.push(' '),
            // XML has no word for these.
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn dot(name: &str, times: f64, goal: Goal) -> Dot {
        let goal_at = (goal != Goal::Unset).then_some(1.5);
        Dot { name: name.to_owned(), times, goal_at, goal, told: "told".to_owned() }
    }

    fn chart(dots: Vec<Dot>) -> Chart {
        let sides = ["the peer is ahead", "Paddock is ahead"];
        Chart { title: "t".to_owned(), says: "s".to_owned(), sides, groups: vec![(String::new(), dots)] }
    }

    /// The names of the elements, in order; panics where the text is no well-formed XML of the kind that is drawn here.
    pub(crate) fn elements(xml: &str) -> Vec<String> {
        let (mut open, mut seen, mut rest) = (Vec::new(), Vec::new(), xml.trim_end());
        while let Some(after) = rest.strip_prefix('<') {
            let (tag, behind) = after.split_once('>').expect("a tag ends");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "what was opened last is closed first");
            } else {
                let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
                let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
                check_attributes(attributes);
                seen.push(name.to_owned());
                if !is_empty {
                    open.push(name.to_owned());
                }
            }
            let (words, _) = behind.split_at(behind.find('<').unwrap_or(behind.len()));
            check_words(words);
            assert!(!open.is_empty() || words.is_empty(), "words are inside of an element: {words}");
            rest = &behind[words.len()..];
        }
        assert!(rest.is_empty() && open.is_empty(), "{open:?} is not closed, {rest:?} is left");
        seen
    }

    fn check_attributes(attributes: &str) {
        let parts: Vec<&str> = attributes.split('"').collect();
        assert!(parts.len() % 2 == 1 && parts[parts.len() - 1].is_empty(), "quotes come in pairs: {attributes}");
        for pair in parts.chunks_exact(2) {
            let name = pair[0].trim_start().strip_suffix('=').expect("a value has a name");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
            check_words(pair[1]);
        }
    }

    fn check_words(words: &str) {
        assert!(!words.contains(['<', '>', '\0']), "{words}");
        for after in words.split('&').skip(1) {
            let (entity, _) = after.split_once(';').expect("an entity ends");
            assert!(["amp", "lt", "gt", "quot", "apos"].contains(&entity), "{entity}");
        }
    }

    #[test]
    fn a_drawing_is_xml_with_every_figure_and_no_script() {
        let drawn = svg(&chart(vec![
            dot("a", 4.0, Goal::Met),
            dot("b", 0.01, Goal::Missed),
            dot("c", f64::INFINITY, Goal::Unset),
            dot("d", f64::NAN, Goal::Unset),
        ]));
        let elements = elements(&drawn);
        let count = |name: &str| elements.iter().filter(|element| *element == name).count();
        // Those of the legend come on top.
        assert_eq!((count("circle"), count("path")), (3 + 2, 1 + 1));
        assert_eq!((elements[0].as_str(), count("title"), count("desc"), count("script")), ("svg", 1, 1, 0));
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }

    #[test]
    fn names_stay_words_whatever_they_hold() {
        let name = "<script>alert(\"1\")</script> & 'x'\u{0}\n";
        let mut evil = chart(vec![dot(name, 2.0, Goal::Met)]);
        (evil.title, evil.says) = (name.to_owned(), name.to_owned());
        evil.groups[0].0 = name.to_owned();
        let drawn = svg(&evil);
        assert!(!elements(&drawn).contains(&"script".to_owned()));
        assert_eq!(drawn.matches("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &apos;x&apos;").count(), 5);
    }

    #[test]
    fn better_is_to_the_right_and_the_same_draws_the_same() {
        let it = chart(vec![dot("a", 0.5, Goal::Missed), dot("b", 8.0, Goal::Met)]);
        let scale = Scale::of(&it);
        assert!(scale.x(0.5) < scale.x(1.0) && scale.x(1.0) < scale.x(8.0));
        assert!(scale.x(0.5) > SCALE.0 && scale.x(8.0) < SCALE.1);
        assert_eq!(svg(&it), svg(&it));
        let marks: Vec<String> = scale.marks().into_iter().map(mark_name).collect();
        assert_eq!(marks, ["÷2", "1×", "2×", "5×"]);
        let wide = Scale::of(&chart(vec![dot("a", 0.05, Goal::Missed), dot("b", 8.0, Goal::Met)]));
        let marks: Vec<String> = wide.marks().into_iter().map(mark_name).collect();
        assert_eq!(marks, ["÷3", "÷10", "1×", "3×"]);
    }

    #[test]
    fn long_names_are_cut_between_letters() {
        let long = "ä".repeat(100);
        assert_eq!(shortened(&long).chars().count(), LONGEST_NAME);
        assert_eq!(shortened("short"), "short");
    }
}
