//! Devices over bare HTTP, for whoever writes more of them than `kubectl` can.

use ringwatch_core::digest::Digest;

use crate::given::state;
use crate::http::Http;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

pub(crate) struct Writer(Http);

impl Writer {
    /// One that writes to a server's port for HTTP.
    pub(crate) const fn new(port: u16) -> Self {
        Self(Http::new(port))
    }

    pub(crate) fn create(&mut self, name: &str, setpoint: u64) {
        self.write("POST", LEASES, name, setpoint);
    }

    pub(crate) fn set(&mut self, name: &str, setpoint: u64) {
        self.write("PATCH", &format!("{LEASES}/{name}"), name, setpoint);
    }

    /// How many devices there are now, and their digest.
    #[allow(
        dead_code,
        reason = "the bench asks, and the soak compares line by line"
    )]
    pub(crate) fn state(&mut self) -> (usize, Digest) {
        let (status, body) = self.0.ask("GET", LEASES, "").expect("the server answers");
        assert_eq!(status, 200, "{body}");
        state(&body)
    }

    fn write(&mut self, method: &str, path: &str, name: &str, setpoint: u64) {
        let object = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"leaseDurationSeconds":{setpoint},"holderIdentity":"auto"}}}}"#
        );
        let (status, body) = self
            .0
            .ask(method, path, &object)
            .expect("the server answers");
        assert!(status < 300, "{status} {body}");
    }
}
