//! The table of endpoints in `docs/api.md` against the OpenAPI document that the server gives.

use std::fs;

use super::pages::Page;

const HEADING: &str = "Every endpoint";

#[test]
fn the_endpoints_are_those_of_the_openapi_document() {
    let page = Page::named("docs/api.md");
    let document = paddock_console::openapi();
    let mut table = String::from("| endpoint | does |\n| --- | --- |\n");
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let does = operation["summary"].as_str().unwrap().replace('|', "\\|");
            table += &format!("| `{} {path}` | {does} |\n", method.to_uppercase());
        }
    }
    assert!(table.lines().count() > 50, "{table}");
    let section = page.section(HEADING);
    if section.contains(&table) {
        return;
    }
    if std::env::var_os("PADDOCK_WRITE_DOCS").is_some() {
        let start = section.find("| ").unwrap_or(section.len());
        let end = section.rfind("|\n").map_or(section.len(), |at| at + 2);
        let changed = format!("{}{table}{}", &section[..start], &section[end..]);
        fs::write(&page.path, page.text.replace(section, &changed)).unwrap();
    }
    panic!("docs/api.md shows other endpoints under \"{HEADING}\"; run again with PADDOCK_WRITE_DOCS=1");
}
