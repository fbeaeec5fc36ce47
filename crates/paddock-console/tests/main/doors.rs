//! Who comes in at all.

use crate::harness::Served;

#[test]
fn a_page_needs_a_session_and_the_api_a_session_or_a_token() {
    let served = Served::start();
    let first = served.request("GET", "/");
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(served.stranger("GET", "/").status, 401);
    assert_eq!(served.stranger("GET", "/api/v1/agents").status, 401);
    let secret = served.token("reader", true);
    let program = served.stranger("GET", "/api/v1/agents").bearer(&secret);
    assert_eq!(program.status, 200);
    assert_eq!(program.json()[1]["name"], "reviewer");
}

#[test]
fn a_form_of_another_page_is_refused() {
    let served = Served::start();
    let sent = served.request("POST", "/settings/tokens").header("origin", "http://127.0.0.1:1").form(&[("name", "x")]);
    assert_eq!(sent.status, 403);
    assert_eq!(served.form("/settings/tokens", &[("name", "x")]).status, 200);
}
