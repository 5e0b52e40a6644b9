//! The file that makes kubectl and every other client the admin of this server.

use base64ct::{Base64, Encoding};

/// A kubeconfig for the server at `url`. Without `authority`, clients trust whom their system trusts.
///
/// All that is put in is without quotes and line ends by what it is: a URL of an address, Base64, and a token of our making.
pub fn kubeconfig(url: &str, authority: Option<&str>, token: &str) -> String {
    let authority = match authority {
        None => String::new(),
        Some(pem) => {
            let data = Base64::encode_string(pem.as_bytes());
            format!("    certificate-authority-data: {data}\n")
        }
    };
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: ringwatch\n\
         \x20 cluster:\n\
         \x20   server: \"{url}\"\n\
         {authority}\
         users:\n\
         - name: admin\n\
         \x20 user:\n\
         \x20   token: \"{token}\"\n\
         contexts:\n\
         - name: ringwatch\n\
         \x20 context:\n\
         \x20   cluster: ringwatch\n\
         \x20   user: admin\n\
         current-context: ringwatch\n"
    )
}
