//! The admin: a token made on first start, and the kubeconfig that has it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use base64ct::{Base64UrlUnpadded, Encoding};
use rustls::crypto::ring::default_provider;
use zeroize::Zeroizing;

use super::RunError;
use crate::auth::NoRandomness;
use crate::files;
use crate::tls::kubeconfig;

/// Shorter ones could be guessed. Ours have 43.
const MIN_TOKEN: usize = 16;

/// What makes one the admin.
pub(super) struct Admin {
    token: Zeroizing<String>,
}

impl Admin {
    /// Takes the token of the folder, and makes one if there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, RunError> {
        let file = folder.join("admin.token");
        let failed = |error: io::Error| RunError::of(file.display(), error);
        match fs::read_to_string(&file) {
            Ok(text) => {
                let token = text.trim();
                let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte);
                if token.len() < MIN_TOKEN || !token.bytes().all(safe) {
                    let why = "is no token; remove it to have a new one made";
                    return Err(RunError::of(file.display(), why));
                }
                Ok(Self {
                    token: Zeroizing::new(token.to_owned()),
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut bytes = Zeroizing::new([0; 32]);
                let random = default_provider().secure_random;
                let filled = random.fill(bytes.as_mut()).map_err(|_| NoRandomness);
                filled.map_err(RunError::because)?;
                let token = Zeroizing::new(Base64UrlUnpadded::encode_string(bytes.as_ref()));
                files::write_private(&file, token.as_bytes()).map_err(failed)?;
                Ok(Self { token })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The token.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Writes `admin.kubeconfig` for the server at `url`, and says where it is.
    pub(super) fn write_kubeconfig(
        &self,
        folder: &Path,
        url: &str,
        authority: Option<&str>,
    ) -> Result<PathBuf, RunError> {
        let file = folder.join("admin.kubeconfig");
        let text = Zeroizing::new(kubeconfig(url, authority, &self.token));
        let written = files::write_private(&file, text.as_bytes());
        written.map_err(|error| RunError::of(file.display(), error))?;
        Ok(file)
    }
}
