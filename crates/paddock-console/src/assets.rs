//! The console's stylesheets, modules and icons, embedded; in a debug build read from disk, so that they can be worked on.
//!
//! They are sent packed where the browser takes that: what is packed here is the same for everybody, so its size tells nothing. Pages
//! are never packed: they hold what agents wrote beside what only the person may know.

#![allow(clippy::disallowed_methods, reason = "in a debug build the derived code reads the assets from the disk")]

use std::io::Write as _;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets/"]
#[exclude = "*.md"]
struct Assets;

/// One asset. Browsers keep it and ask whether it is still the same.
pub(crate) async fn serve(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = Assets::get(&path) else { return StatusCode::NOT_FOUND.into_response() };
    let tag: String = asset.metadata.sha256_hash()[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    let packed = takes_gzip(&headers).then(|| gzip(&asset.data)).flatten();
    let tag = format!("\"{tag}{}\"", if packed.is_some() { "-gzip" } else { "" });
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|given| given.as_bytes() == tag.as_bytes());
    // Also of what is the same still: whoever is told nothing here is told by the guard to throw away what they have.
    let kept = [
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag),
        (header::VARY, "accept-encoding".to_owned()),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    let kind = [(header::CONTENT_TYPE, content_type(&path))];
    match packed {
        Some(packed) => (kept, kind, [(header::CONTENT_ENCODING, "gzip")], packed).into_response(),
        None => (kept, kind, asset.data).into_response(),
    }
}

/// Does the browser say so, and not that it does not want it?
fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    named.split(',').map(str::trim).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).ok()?;
    packer.finish().ok()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn asked(coding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(coding))])
    }

    #[test]
    fn only_who_takes_it_gets_it_packed() {
        assert!(takes_gzip(&asked("gzip, deflate, br")) && takes_gzip(&asked("br;q=1.0, GZIP;q=0.5")));
        assert!(
            !takes_gzip(&asked("br, gzip;q=0")) && !takes_gzip(&asked("identity")) && !takes_gzip(&HeaderMap::new())
        );
    }

    #[tokio::test]
    async fn packed_and_plain_are_two_answers() {
        let path = || Path("base.css".to_owned());
        let plain = serve(path(), HeaderMap::new()).await;
        let packed = serve(path(), asked("gzip")).await;
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        assert!(plain.headers().get(header::CONTENT_ENCODING).is_none());
        assert_ne!(plain.headers()[header::ETAG], packed.headers()[header::ETAG]);
        let mut again = asked("gzip");
        again.insert(header::IF_NONE_MATCH, packed.headers()[header::ETAG].clone());
        let same = serve(path(), again).await;
        assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
        for kept in [header::CACHE_CONTROL, header::ETAG, header::VARY] {
            assert_eq!(same.headers().get(&kept), packed.headers().get(&kept), "{kept}");
        }
    }
}
