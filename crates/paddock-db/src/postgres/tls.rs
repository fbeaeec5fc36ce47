//! TLS to the server: whom to trust, and the driver's view of an encrypted stream.
//!
//! Owns what each `sslmode` promises. `prefer` and `require` without a certificate keep out who only listens, and say
//! nothing about who answers; `verify-ca` and `verify-full` do. Nothing here may fall back to less than was asked for.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::{DbError, Result};

/// Whose certificate is taken.
#[derive(Debug, Clone)]
pub(super) enum Trust {
    /// Anyone's.
    Anyone,
    /// One that a known authority signed; the authorities of the file, or the machine's.
    Signed(Option<PathBuf>),
    /// The same, and it must be for the host that was asked for.
    SignedAndNamed(Option<PathBuf>),
}

/// Makes encrypted connections; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Reads the certificates that `trust` needs.
    pub(super) fn new(trust: &Trust, name: &str) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let verifier =
            Verifier::new(trust, &provider).map_err(|why| DbError::Insecure { name: name.to_owned(), why })?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| DbError::Insecure { name: name.to_owned(), why: error.to_string() })?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// Judges the server's certificate as the mode asks.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Who signs; none when anyone is believed.
    authorities: Option<Authorities>,
    named: bool,
}

#[derive(Debug)]
struct Authorities {
    chain: Arc<WebPkiServerVerifier>,
    /// Certificates given by the person: the server's own may be among them, which is no authority and is still known.
    given: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(trust: &Trust, provider: &Arc<CryptoProvider>) -> std::result::Result<Self, String> {
        let (file, named) = match trust {
            Trust::Anyone => return Ok(Self { provider: provider.clone(), authorities: None, named: false }),
            Trust::Signed(file) => (file, false),
            Trust::SignedAndNamed(file) => (file, true),
        };
        let given = file.as_deref().map(certificates_of).transpose()?;
        let mut roots = RootCertStore::empty();
        match &given {
            Some(given) => roots.add_parsable_certificates(given.iter().cloned()),
            None => roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
        };
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let chain = chain.map_err(|error| format!("no authority to trust was found: {error}"))?;
        let authorities = Some(Authorities { chain, given: given.unwrap_or_default() });
        Ok(Self { provider: provider.clone(), authorities, named })
    }
}

fn certificates_of(file: &Path) -> std::result::Result<Vec<CertificateDer<'static>>, String> {
    let trouble = |error: &dyn std::fmt::Display| format!("cannot read \"{}\": {error}", file.display());
    let read = CertificateDer::pem_file_iter(file).map_err(|error| trouble(&error))?;
    let certificates: Vec<_> = read.collect::<std::result::Result<_, _>>().map_err(|error| trouble(&error))?;
    if certificates.is_empty() { Err(trouble(&"it holds no certificate")) } else { Ok(certificates) }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        // The very certificate that was given: who holds its key is whom the person meant. The handshake proves the key.
        if authorities.given.iter().any(|given| given == end_entity) {
            if self.named {
                rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        // The name is what this looks at last, so that an error about it says that all else is well.
        match authorities.chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.named => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let wrong = |_| io::Error::other(format!("\"{domain}\" is no name that a certificate could hold"));
        // A socket of this machine has no name, and the driver never encrypts it.
        let domain = if domain.is_empty() { "localhost" } else { domain };
        let host = ServerName::try_from(domain.to_owned()).map_err(wrong)?;
        Ok(Handshake { connector: TlsConnector::from(self.0.clone()), host })
    }
}

/// One handshake about to happen.
pub(super) struct Handshake {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(Encrypted(self.connector.connect(self.host, stream).await?)) })
    }
}

/// A stream after the handshake.
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
