//! What a run costs in money: told where tokens are told, and only where the configuration has prices.

use serde_json::{Value, json};

use super::{answer, begin, call, script};
use crate::harness::World;

const PRICES: &str = "prices = { input = 1000, output = \"1000.5\", currency = \"EUR\" }\n";

/// A run that asks before it removes, of a model that the configuration names.
fn tidying(more: &str) -> (World, String) {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    let lines = [
        answer("- [ ] write\n- [ ] remove"),
        call("write_file", &json!({ "path": "workspace/note.txt", "content": "hello\n" })),
        answer("written"),
        call("delete_file", &json!({ "path": "workspace/old.txt" })),
        answer("that is all"),
    ];
    let model = script(&world, &lines);
    let config = format!("{}\n[model]\nuse = {}\n{more}", world.read("paddock.toml"), json!(model));
    world.write("paddock.toml", config);
    (world, model)
}

fn run(world: &World) -> String {
    let frozen = world.paddock(&["run", "tidy up", "--thread", "t", "--level", "admin", "--no-wait"]);
    assert_eq!(frozen.code, 3, "{frozen}");
    assert_eq!(world.paddock(&["approvals", "approve", "ap-"]).code, 0);
    let done = world.paddock(&["resume", "t", "--no-wait"]);
    assert_eq!(done.code, 0, "{done}");
    frozen.stderr + &done.stderr
}

fn shown(world: &World) -> Value {
    world.paddock(&["threads", "show", "t", "--json"]).json()
}

#[test]
fn what_a_run_costs_is_told_wherever_its_tokens_are() {
    let (world, _) = tidying(PRICES);
    let told = run(&world);
    let used = shown(&world)["used"].clone();
    let (tokens, cost) = (used["tokens"].as_u64().unwrap(), &used["cost"][0]);
    // Nearly a thousandth for each.
    let micros = cost["micros"].as_u64().unwrap();
    assert!(micros > 1000 * tokens && micros < 1001 * tokens && cost["currency"] == "EUR", "{used}");
    let words = cost["words"].as_str().unwrap();
    let last = told.lines().last().unwrap();
    assert!(last.starts_with(&format!("{tokens} tokens, {words}, ")), "{last}: {used}");
    let step = told.lines().find(|line| line.starts_with("  ✓ write (")).unwrap();
    assert!(step.contains(" tokens, 0.") && step.contains(" EUR, "), "{step}");
    let show = world.paddock(&["threads", "show", "t"]).stdout;
    assert!(show.contains(&format!("used     {tokens} tokens, {words}, in its last turn")), "{show}");
    // Each answer has its own part, and going through it again adds nothing.
    let answers = shown(&world)["checkpoints"].as_array().unwrap().clone();
    let parts = answers.iter().filter_map(|row| row["answer"]["cost"]["micros"].as_u64());
    assert_eq!(parts.sum::<u64>(), micros);
    assert_eq!(world.paddock(&["threads", "replay", "t"]).code, 0);
    assert_eq!(shown(&world)["used"], used);
}

#[test]
fn without_prices_of_that_model_no_amount_is_told() {
    let (world, _) = tidying("");
    let told = run(&world) + &world.paddock(&["threads", "show", "t"]).stdout;
    assert!(told.contains(" tokens") && !told.contains("EUR") && !told.contains("USD"), "{told}");
    let shown = shown(&world).to_string();
    assert!(!shown.contains("\"cost\""), "{shown}");
    // The prices of one model are not those of another.
    let (world, model) = tidying(PRICES);
    let other = model.replace("script.jsonl", "./script.jsonl");
    let frozen = begin(&world, "t", &other, &["--level", "admin"]);
    assert_eq!(frozen.code, 3, "{frozen}");
    assert!(frozen.json()["used"]["tokens"].is_u64() && frozen.json()["used"].get("cost").is_none(), "{frozen}");
}

#[test]
fn a_run_that_costs_as_much_as_it_may_asks() {
    let (world, _) = tidying(&format!("{PRICES}[run]\nmax_cost = 0.02\n"));
    let ran = world.paddock(&["run", "tidy up", "--thread", "t", "--json"]);
    let told = ran.json();
    assert_eq!(
        (ran.code, &told["question"]),
        (1, &json!("This run has used up its 0.0200 EUR. Shall I go on?")),
        "{ran}"
    );
    assert!(told["used"]["cost"][0]["micros"].as_u64().unwrap() >= 20_000, "{told}");
    // A bound that cannot hold is no bound.
    let ran = world.paddock(&["run", "x", "--model", "compatible:m", "--thread", "u"]);
    assert!(ran.stderr.contains("needs the address"), "{ran}");
    let config = world.read("paddock.toml");
    let model = config.lines().find(|line| line.starts_with("use = ")).unwrap();
    let service = "use = \"compatible:m\"\nbase_url = \"http://127.0.0.1:9/v1\"";
    world.write("paddock.toml", config.replace(model, service).replace(PRICES, ""));
    let ran = world.paddock(&["run", "x", "--thread", "u"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("nobody knows what \"compatible:m\" costs") && ran.stderr.contains("hint: "), "{ran}");
}

#[test]
fn a_price_that_is_none_is_told_with_its_line() {
    let (world, _) = tidying("prices = { input = 1.0000001, output = -1, currency = \"U$\" }\n");
    let checked = world.paddock(&["check"]);
    assert_eq!(checked.code, 2, "{checked}");
    for words in ["\"1.0000001\" is not an amount of money", "\"-1\" is not an amount", "\"U$\" cannot name a currency"]
    {
        assert!(checked.stderr.contains(words), "{words}: {checked}");
    }
}
