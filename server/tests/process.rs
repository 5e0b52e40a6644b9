//! The program as people run it.

#[path = "process/running.rs"]
mod running;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use running::{PATIENCE, Running, connect, program, trusting};
use rustix::process::Signal;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

/// The disk is full: what is there is read, nothing is written, and who asks is told.
#[test]
fn after_a_failed_write_the_server_says_that_it_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    // Without a handler the signal that comes with the limit would end the process.
    let flags = ["--insecure-listen", "127.0.0.1:0"];
    let server = Running::start_through(
        &["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"],
        folder.path(),
        &flags,
    );
    let create = |name: &str| {
        let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        let request = format!(
            "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(&server, &request)
    };
    assert!(create("before").starts_with("HTTP/1.1 201"));
    let id = rustix::process::Pid::from_raw(server.id().cast_signed());
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    rustix::process::prlimit(id, rustix::process::Resource::Fsize, none).unwrap();
    assert!(create("lost").starts_with("HTTP/1.1 500"));
    assert!(create("refused").starts_with("HTTP/1.1 500"));
    let why = "a write has failed, see the log; put that right and start the server again";
    for path in ["/readyz", "/healthz"] {
        let (status, words) = server.get(path, None);
        assert_eq!(status, 500);
        assert!(
            words.contains(&format!("[-]storage-writes failed: {why}\n")),
            "{words}"
        );
    }
    assert_eq!(server.get("/livez", None).0, 200);
    let token = server.value("token");
    let configmap = "/api/v1/namespaces/default/configmaps";
    assert_eq!(
        server.get(&format!("{configmap}/before"), Some(&token)).0,
        200
    );
    assert_eq!(
        server.get(&format!("{configmap}/lost"), Some(&token)).0,
        404
    );
}

fn exchange(server: &Running, request: &str) -> String {
    let mut stream = TcpStream::connect(server.plain()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn with_only_the_binary_there_is_a_server_for_its_admin() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("some/data");
    let server = Running::start(&data, &[]);
    assert!(
        server.words.starts_with("ringwatch-server "),
        "{}",
        server.words
    );
    let token = server.value("token");
    assert_eq!(server.get("/healthz", None), (200, "ok".to_owned()));
    let (status, ready) = server.get("/readyz?verbose", None);
    assert_eq!(status, 200);
    assert!(
        ready.ends_with("[+]shutdown ok\nreadyz check passed\n"),
        "{ready}"
    );
    let (status, version) = server.get("/version", None);
    assert_eq!(status, 200);
    assert!(version.contains("\"gitVersion\": \"v1."), "{version}");
    assert_eq!(server.get("/nowhere", Some(&token)).0, 404);
    for wrong in [None, Some("wrong"), Some(&token[1..])] {
        let (status, body) = server.get("/nowhere", wrong);
        assert_eq!(status, 401);
        assert!(body.contains("\"reason\":\"Unauthorized\""), "{body}");
    }
    // A wrong token is refused even where none is needed.
    assert_eq!(server.get("/version", Some("wrong")).0, 401);
    for file in ["admin.kubeconfig", "admin.token", "tls/ca.key", "lock"] {
        let mode = fs::metadata(data.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    for folder in ["", "objects", "tls"] {
        let mode = fs::metadata(data.join(folder))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
    server.send(Signal::TERM);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_restart_changes_neither_authority_nor_token() {
    let folder = tempfile::tempdir().unwrap();
    let first = Running::start(folder.path(), &["--in-memory"]);
    let authority = first.value("certificate-authority-data");
    let token = first.value("token");
    first.send(Signal::INT);
    assert_eq!(first.end().code(), Some(0));
    let second = Running::start(
        folder.path(),
        &["--in-memory", "--tls-san", "api.example.org"],
    );
    assert_eq!(second.value("certificate-authority-data"), authority);
    assert_eq!(second.get("/nowhere", Some(&token)).0, 404);
    // The certificate is a new one, with the new name.
    let stream = TcpStream::connect(second.address).unwrap();
    let name = ServerName::try_from("api.example.org").unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(second.tls()), name).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, stream);
    stream.write_all(b"GET /livez HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &["--in-memory"]);
    let mut config = server.tls();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let name = ServerName::try_from("kubernetes.default.svc").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector.connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let builder = http2::Builder::new(TokioExecutor::new());
    let (mut client, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get("https://localhost/nowhere");
    let token = format!("Bearer {}", server.value("token"));
    let request = request
        .header("authorization", token)
        .body(String::new())
        .unwrap();
    assert_eq!(client.send_request(request).await.unwrap().status(), 404);
    // It is told to finish, and does.
    server.send(Signal::TERM);
    tokio::time::timeout(PATIENCE, connection)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let ended = tokio::task::spawn_blocking(move || server.end());
    assert_eq!(ended.await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_second_signal_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "--in-memory",
        "--insecure-listen",
        "127.0.0.1:0",
        "--shutdown-timeout",
        "10m",
    ];
    let server = Running::start(folder.path(), &flags);
    // An answer that is never taken.
    let stream = tokio::net::TcpStream::connect(server.plain())
        .await
        .unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let builder = builder.initial_stream_window_size(0);
    let (mut client, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("http://localhost/version");
    let request = request.body(String::new()).unwrap();
    let _answer = client.send_request(request).await.unwrap();
    server.send(Signal::TERM);
    // It has begun to stop when nobody can connect any more.
    let asked = Instant::now();
    while TcpStream::connect(server.address).is_ok() {
        assert!(asked.elapsed() < PATIENCE);
    }
    server.send(Signal::TERM);
    let ended = tokio::task::spawn_blocking(move || server.end());
    assert_eq!(ended.await.unwrap().code(), Some(143));
}

#[test]
fn a_data_folder_belongs_to_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let second = program(&["--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    let expected = format!(
        "error: the data folder {} is in use by process {}; stop that server, or choose another folder with --data-dir\n",
        folder.path().display(),
        server.id()
    );
    assert!(said.ends_with(&expected), "{said}");
}

#[test]
fn what_is_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |flags: &[&str]| {
        let mut command = program(flags);
        command.arg("--data-dir").arg(folder.path());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = run(&["--listen", &address]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&format!("cannot listen on {address}: ")),
        "{said}"
    );
    assert!(said.contains("another program listens there"), "{said}");
    let (code, said) = run(&["--token-file", "/nonexistent/users.csv"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("/nonexistent/users.csv: cannot be read: "),
        "{said}"
    );
    let (code, said) = run(&["--lisen", &address]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--listen"), "{said}");
    let (code, said) = run(&["--config", "/nonexistent/config.toml"]);
    assert_eq!(code, Some(2));
    assert!(
        said.starts_with("error: /nonexistent/config.toml: cannot be read: "),
        "{said}"
    );
}

#[test]
fn users_and_certificates_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (users, certificate, key) = (path("users.csv"), path("a.crt"), path("a.key"));
    let make = || {
        let pair = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let pem = params.self_signed(&pair).unwrap().pem();
        fs::write(&certificate, &pem).unwrap();
        fs::write(&key, pair.serialize_pem()).unwrap();
        pem
    };
    let first = make();
    fs::write(&users, "t-ada,ada,1\n").unwrap();
    let flags = [
        "--in-memory",
        "--token-file",
        &users,
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
    ];
    let server = Running::start(&folder.path().join("data"), &flags);
    // The status with this token of a server that has this certificate; `None` if it has another.
    let status = |pem: &str, token: &str| {
        let mut stream = connect(server.address, trusting(pem.as_bytes()));
        let request = format!("GET /nowhere HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split(' ').nth(1)?.parse::<u16>().ok()
    };
    assert_eq!(status(&first, "t-ada"), Some(404));
    assert_eq!(status(&first, "t-bob"), Some(401));
    fs::write(&users, "t-bob,bob,1\n").unwrap();
    let second = make();
    let begun = Instant::now();
    while status(&second, "t-bob") != Some(404) {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status(&second, "t-ada"), Some(401));
    assert_eq!(status(&first, "t-bob"), None);
}

#[test]
fn plain_http_is_for_the_machine_itself() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(
        folder.path(),
        &["--in-memory", "--insecure-listen", "127.0.0.1:0"],
    );
    let get = |host: &str| {
        let mut stream = TcpStream::connect(server.plain()).unwrap();
        let request = format!("GET /nowhere HTTP/1.0\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(get("localhost"), "404");
    assert_eq!(get("evil.example"), "403");
}
