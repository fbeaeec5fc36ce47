//! The variables by which programs find the proxy: one spelling each that some of them read.

use std::ffi::OsString;

use super::PORT;

/// Names whose value is the proxy's address.
const PROXY: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "PIP_PROXY",
    "CARGO_HTTP_PROXY",
];

/// Names whose value is who is reached past it.
const PAST_IT: &[&str] = &["NO_PROXY", "no_proxy", "npm_config_noproxy"];

/// All of them. Where the host's own services are allowed, `localhost` is asked of the proxy too; otherwise it means the
/// sandbox itself, where a command may talk to what it started.
pub(super) fn all(this_machine_is_listed: bool) -> Vec<(OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let past_it = if this_machine_is_listed { "" } else { "localhost,127.0.0.1,::1" };
    let to_proxy = PROXY.iter().map(|name| (name.into(), proxy.clone().into()));
    let past = PAST_IT.iter().map(|name| (name.into(), past_it.into()));
    // What makes node look at the others.
    let node = [("NODE_USE_ENV_PROXY".into(), "1".into())];
    to_proxy.chain(past).chain(node).collect()
}
