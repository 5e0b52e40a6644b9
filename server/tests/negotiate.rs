//! What headers lead to, from `tests/negotiate/accept.txt` and from the tables here.

use ringwatch_server::negotiate::{
    Form, Media, NotAcceptable, Offer, Patch, Request, accept, content_type, for_error, patch_type,
    pretty,
};
use ringwatch_server::table::Version;

#[test]
fn accept_headers_lead_to_the_answers_in_the_file() {
    let rows = include_str!("negotiate/accept.txt");
    let mut faults = Vec::new();
    let mut count = 0;
    for row in rows
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
    {
        let [asked, header, expected] = row.splitn(3, '|').collect::<Vec<_>>()[..] else {
            panic!("a row has three parts: {row}");
        };
        let header = match header.trim() {
            "-" => None,
            header => Some(header),
        };
        let found = outcome(header, &offer(asked.trim()));
        if found != expected.trim() {
            faults.push(format!("{row}\n  found {found}"));
        }
        count += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count >= 70, "only {count} rows were found");
}

fn offer(asked: &str) -> Offer {
    let (who, what) = asked.split_once(' ').unwrap();
    let request = match what {
        "object" => Request::Object,
        "list" => Request::List,
        "watch" => Request::Watch,
        "discovery" => Request::Discovery,
        other => panic!("what is {other}?"),
    };
    match who {
        "builtin" => Offer::built_in(request),
        "custom" => Offer::custom(request),
        "review" => Offer {
            table: false,
            ..Offer::built_in(request)
        },
        other => panic!("who is {other}?"),
    }
}

fn outcome(header: Option<&str>, offer: &Offer) -> String {
    let answer = match accept(header, offer) {
        Ok(answer) => answer,
        Err(error) => {
            let sort = match error {
                NotAcceptable::Router { .. } => "router",
                NotAcceptable::Types { .. } => "types",
                _ => "kind",
            };
            return format!("{sort} {error}").replace('\n', "\\n");
        }
    };
    let media = match answer.media {
        Media::Json => "json",
        Media::Yaml => "yaml",
        Media::Protobuf => "protobuf",
    };
    let version = |version| match version {
        Version::V1 => "v1",
        Version::V1Beta1 => "v1beta1",
    };
    let form = match answer.form {
        Form::Whole => "whole".to_owned(),
        Form::Table(of) => format!("table {}", version(of)),
        Form::Metadata(of) => format!("metadata {}", version(of)),
        Form::Discovery => "discovery".to_owned(),
    };
    let pretty = if answer.pretty { " pretty" } else { "" };
    format!("{media} {form}{pretty}")
}

#[test]
fn the_answers_type_says_how_it_is_framed() {
    let answered = |header, request| {
        let answer = accept(Some(header), &Offer::built_in(request)).unwrap();
        answer.content_type(request)
    };
    let protobuf = "application/vnd.kubernetes.protobuf";
    assert_eq!(answered(protobuf, Request::List), protobuf);
    assert_eq!(
        answered(protobuf, Request::Watch),
        "application/vnd.kubernetes.protobuf;stream=watch"
    );
    assert_eq!(
        answered("application/json;stream=watch", Request::Watch),
        "application/json"
    );
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    assert_eq!(answered(table, Request::List), "application/json");
    let discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    assert_eq!(answered(discovery, Request::Discovery), discovery);
}

#[test]
fn an_error_is_told_in_a_type_that_the_client_named() {
    for (header, expected) in [
        (None, (Media::Json, false)),
        (Some("*/*"), (Media::Json, false)),
        (Some("application/yaml"), (Media::Yaml, false)),
        (
            Some("application/vnd.kubernetes.protobuf, */*"),
            (Media::Protobuf, false),
        ),
        (
            Some("application/json;as=Table;v=v1;g=meta.k8s.io"),
            (Media::Json, false),
        ),
        (Some("text/plain"), (Media::Json, true)),
    ] {
        assert_eq!(for_error(header), expected, "{header:?}");
    }
}

#[test]
fn a_body_is_json_unless_it_says_otherwise() {
    for (header, protobuf, expected) in [
        (None, true, Some(Media::Json)),
        (Some(""), true, Some(Media::Json)),
        (Some("application/json"), true, Some(Media::Json)),
        (
            Some("application/json; charset=utf-8"),
            true,
            Some(Media::Json),
        ),
        (Some("Application/YAML"), true, Some(Media::Yaml)),
        (
            Some("application/vnd.kubernetes.protobuf"),
            true,
            Some(Media::Protobuf),
        ),
        (Some("application/vnd.kubernetes.protobuf"), false, None),
        (Some("text/plain"), true, None),
        (Some("application/*"), true, None),
    ] {
        assert_eq!(content_type(header, protobuf).ok(), expected, "{header:?}");
    }
    assert_eq!(
        content_type(Some("text/plain"), true)
            .unwrap_err()
            .to_string(),
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    );
}

#[test]
fn a_patch_must_say_what_it_is() {
    let custom = [Patch::Json, Patch::Merge, Patch::Apply];
    for patch in custom {
        assert_eq!(patch_type(Some(patch.as_str()), &custom), Ok(patch));
    }
    let refused = patch_type(Some(Patch::StrategicMerge.as_str()), &custom).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
    assert!(patch_type(None, &custom).is_err());
    assert!(patch_type(Some("application/json"), &custom).is_err());
}

#[test]
fn people_get_indented_answers() {
    for (query, clause, agent, expected) in [
        (None, false, None, false),
        (None, false, Some("curl/8.5"), true),
        (None, false, Some("Wget/1.2"), true),
        (None, false, Some("Mozilla/5.0 (X11)"), true),
        (None, false, Some("kubectl/v1.37"), false),
        (None, true, Some("kubectl/v1.37"), true),
        (Some(""), false, Some("curl/8.5"), true),
        (Some("false"), false, Some("curl/8.5"), false),
        (Some("0"), false, Some("curl/8.5"), false),
        (Some("true"), false, None, true),
        (Some("1"), false, None, true),
        (Some("yes"), false, None, false),
        (Some("false"), true, None, true),
    ] {
        assert_eq!(
            pretty(query, clause, agent),
            expected,
            "{query:?} {clause} {agent:?}"
        );
    }
}
