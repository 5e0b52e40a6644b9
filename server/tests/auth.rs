//! Who is let in, and to what.

use std::path::Path;

use base64ct::{Base64UrlUnpadded, Encoding};
use http::HeaderMap;
use ringwatch_server::auth::{Access, Authenticator, Caller, Rights, Users};
use ringwatch_server::serve::Peer;

const ADMIN: &str = "the-admins-own-token";
const FILE: &str = "\
t-ada,ada,1,\"ops,devs\"

t-bob,bob,2,ringwatch:readers
\"t,eve\",eve,,\"a,ringwatch:readers\"
";

fn authenticator() -> Authenticator {
    let users = Users::parse(Path::new("users.csv"), FILE).unwrap();
    Authenticator::new(ADMIN, users).unwrap()
}

fn remote() -> Peer {
    Peer {
        address: "192.0.2.7:4000".parse().unwrap(),
        secure: true,
    }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

fn identify(pairs: &[(&'static str, &str)]) -> Result<Caller, u16> {
    let caller = authenticator().identify(&mut headers(pairs), &remote());
    caller.map_err(|failure| failure.code)
}

#[test]
fn a_token_names_its_user() {
    let ada = identify(&[("authorization", "Bearer t-ada")]).unwrap();
    assert_eq!(
        (ada.name(), ada.uid(), ada.rights()),
        ("ada", "1", Rights::All)
    );
    assert_eq!(ada.groups(), ["ops", "devs", "system:authenticated"]);
    let bob = identify(&[("authorization", "bearer  t-bob")]).unwrap();
    assert_eq!((bob.name(), bob.rights()), ("bob", Rights::Read));
    let eve = identify(&[("authorization", "Bearer t,eve")]).unwrap();
    assert_eq!(
        (eve.name(), eve.uid(), eve.rights()),
        ("eve", "", Rights::Read)
    );
    let admin = format!("Bearer {ADMIN}");
    let admin = identify(&[("authorization", &admin)]).unwrap();
    assert_eq!((admin.name(), admin.rights()), ("admin", Rights::All));
    assert_eq!(identify(&[]).unwrap().rights(), Rights::Public);
}

#[test]
fn what_is_no_token_of_ours_is_refused() {
    for value in [
        "Bearer t-ad",
        "Bearer t-adaa",
        "Bearer",
        "t-ada",
        "Basic t-ada",
        "Bearer t-ada x",
        "",
    ] {
        assert_eq!(identify(&[("authorization", value)]), Err(401), "{value:?}");
    }
}

#[test]
fn a_websocket_may_have_its_token_among_its_protocols() {
    let prefix = "base64url.bearer.authorization.k8s.io.";
    let token = format!("{prefix}{}", Base64UrlUnpadded::encode_string(b"t-ada"));
    let name = "sec-websocket-protocol";
    let mut both = headers(&[(name, &format!("{token}, v1.json"))]);
    let caller = authenticator().identify(&mut both, &remote()).unwrap();
    assert_eq!(caller.name(), "ada");
    assert_eq!(both.get(name).unwrap(), "v1.json", "the token must be gone");
    let mut apart = headers(&[(name, "v1.json"), (name, &token)]);
    let caller = authenticator().identify(&mut apart, &remote()).unwrap();
    assert_eq!(caller.name(), "ada");
    let left: Vec<_> = apart.get_all(name).iter().collect();
    assert_eq!(left, ["v1.json"]);
    // Alone, twice, or not what it says.
    assert_eq!(identify(&[(name, &token)]), Err(401));
    assert_eq!(
        identify(&[(name, &format!("{token}, {token}, v1.json"))]),
        Err(401)
    );
    assert_eq!(
        identify(&[(name, &format!("{prefix}!, v1.json"))]),
        Err(401)
    );
    assert_eq!(
        identify(&[(name, &format!("{prefix}_w, v1.json"))]),
        Err(401)
    );
    // Other protocols say nothing about who asks.
    assert_eq!(
        identify(&[(name, "v1.json")]).unwrap().rights(),
        Rights::Public
    );
}

#[test]
fn on_the_machine_itself_everyone_is_admin_but_no_web_page() {
    let local = Peer {
        address: "127.0.0.1:4000".parse().unwrap(),
        secure: false,
    };
    let identify = |host: &[(&'static str, &str)]| {
        let caller = authenticator().identify(&mut headers(host), &local);
        caller
            .map(|caller| caller.rights())
            .map_err(|failure| failure.code)
    };
    assert_eq!(identify(&[]), Ok(Rights::All));
    for host in [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.1:8080",
        "[::1]:8080",
        "[::1]",
    ] {
        assert_eq!(identify(&[("host", host)]), Ok(Rights::All), "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "",
    ] {
        assert_eq!(identify(&[("host", host)]), Err(403), "{host}");
    }
}

#[test]
fn users_can_be_replaced_and_the_admin_stays() {
    let authenticator = authenticator();
    let users = Users::parse(Path::new("users.csv"), "t-new,new,3\n").unwrap();
    authenticator.replace(users);
    let name = |token: &str| {
        let mut headers = headers(&[("authorization", &format!("Bearer {token}"))]);
        let caller = authenticator.identify(&mut headers, &remote()).ok()?;
        Some(caller.name().to_owned())
    };
    assert_eq!(name("t-new").as_deref(), Some("new"));
    assert_eq!(name(ADMIN).as_deref(), Some("admin"));
    assert_eq!(name("t-ada"), None);
}

fn resource<'a>(verb: &'a str, namespace: &'a str, name: &'a str) -> Access<'a> {
    Access::Resource {
        verb,
        group: "apps",
        resource: "deployments",
        subresource: "",
        namespace,
        name,
    }
}

#[test]
fn rights_are_checked() {
    let admin = Caller::admin();
    let reader = Caller::user("bob", "", vec!["ringwatch:readers".to_owned()]);
    let anonymous = Caller::anonymous();
    let code = |caller: &Caller, access: Access<'_>| {
        caller.check(&access).err().map(|failure| failure.code)
    };
    for verb in ["get", "list", "watch"] {
        assert_eq!(code(&reader, resource(verb, "a", "b")), None);
        assert_eq!(code(&anonymous, resource(verb, "a", "b")), Some(401));
    }
    for verb in [
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
        "other",
    ] {
        assert_eq!(code(&admin, resource(verb, "a", "b")), None);
        assert_eq!(code(&reader, resource(verb, "a", "b")), Some(403));
        assert_eq!(code(&anonymous, resource(verb, "a", "b")), Some(401));
    }
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/readyz/ping",
        "/version",
        "/version/",
    ] {
        assert_eq!(code(&anonymous, Access::path("get", path)), None, "{path}");
        assert_eq!(
            code(&anonymous, Access::path("post", path)),
            Some(401),
            "{path}"
        );
    }
    for path in [
        "/",
        "/api",
        "/metrics",
        "/openapi/v2",
        "/healthzz",
        "/versions",
        "/api/readyz",
    ] {
        assert_eq!(
            code(&anonymous, Access::path("get", path)),
            Some(401),
            "{path}"
        );
        assert_eq!(code(&reader, Access::path("get", path)), None, "{path}");
    }
    let question = Access::Resource {
        verb: "create",
        group: "authorization.k8s.io",
        resource: "selfsubjectaccessreviews",
        subresource: "",
        namespace: "",
        name: "",
    };
    assert_eq!(code(&reader, question), None);
}

#[test]
fn who_may_not_is_told_in_known_words() {
    let reader = Caller::user("bob", "", vec!["ringwatch:readers".to_owned()]);
    let words = |access: Access<'_>| reader.check(&access).unwrap_err().message;
    assert_eq!(
        words(resource("delete", "shop", "web")),
        r#"deployments.apps "web" is forbidden: User "bob" cannot delete resource "deployments" in API group "apps" in the namespace "shop""#
    );
    assert_eq!(
        words(resource("deletecollection", "", "")),
        r#"deployments.apps is forbidden: User "bob" cannot deletecollection resource "deployments" in API group "apps" at the cluster scope"#
    );
    let status = Access::Resource {
        verb: "patch",
        group: "",
        resource: "pods",
        subresource: "status",
        namespace: "shop",
        name: "web",
    };
    assert_eq!(
        words(status),
        r#"pods "web" is forbidden: User "bob" cannot patch resource "pods/status" in API group "" in the namespace "shop""#
    );
    let failure = reader.check(&Access::path("post", "/x")).unwrap_err();
    assert_eq!(
        failure.message,
        r#"forbidden: User "bob" cannot post path "/x""#
    );
    assert_eq!((failure.code, failure.reason), (403, "Forbidden"));
}

#[test]
fn a_wrong_file_of_users_says_where() {
    let cases = [
        (
            "a,b\n",
            "u.csv:1: too few fields; a line is token,user,uid,\"group1,group2\"",
        ),
        (
            "\nt,ada,1,x,y\n",
            "u.csv:2: too many fields; put the groups into quotes: \"group1,group2\"",
        ),
        (
            ",ada,1\n",
            "u.csv:1: field 1: the token is empty or has spaces in it",
        ),
        (
            "a b,ada,1\n",
            "u.csv:1: field 1: the token is empty or has spaces in it",
        ),
        ("t,,1\n", "u.csv:1: field 2: the user has no name"),
        (
            "t,ada,1\nx,eve,1\nt,bob,1\n",
            "u.csv:3: field 1: the token is that of line 1; each needs its own",
        ),
        (
            "t,ada,1,\"x\n",
            "u.csv:1: a quote is not closed; a line is token,user,uid,\"group1,group2\"",
        ),
        (
            "t,ada,1,\"x\"y\n",
            "u.csv:1: a comma must follow a closing quote; in quotes, write a quote twice",
        ),
        (
            "t,a\"da,1\n",
            "u.csv:1: a quote inside a field; put the whole field into quotes",
        ),
    ];
    for (text, expected) in cases {
        let error = Users::parse(Path::new("u.csv"), text).unwrap_err();
        assert_eq!(error.to_string(), expected);
        let debugged = format!("{error:?}");
        assert!(!debugged.contains("ada"), "{debugged}");
    }
}
