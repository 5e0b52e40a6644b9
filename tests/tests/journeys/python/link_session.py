"""Sessions with a real server: python link_session.py KUBECONFIG HOST:PORT KEY PACKETS. Says what it saw; the test compares."""

import json
import sys

from kubernetes import client, config
from node_link import TEXT, U32, Bytes, Frame, Node, Refused, View, digest, option

config.load_kube_config(config_file=sys.argv[1])
api = client.CoreV1Api()
host, port = sys.argv[2].rsplit(":", 1)
secret = bytes.fromhex(sys.argv[3])
packets = int(sys.argv[4])
scope = ("Namespace", "default")


def connect(view, credit=0xFFFFFFFF, start=None, **limits):
    return Node("heater-1", secret, **limits).connect((host, int(port)), view.subscribe(credit, start))


def until_cached(written):
    """Over etcd the server's cache has a write a moment later than its writer, and a session begins with what the cache has."""
    revision = written.metadata.resource_version
    selector = f"metadata.name={written.metadata.name}"
    api.list_namespaced_config_map(
        "default", field_selector=selector, resource_version=revision, resource_version_match="NotOlderThan"
    )


def create(name, mode, **labels):
    metadata = client.V1ObjectMeta(name=name, labels=labels)
    body = client.V1ConfigMap(metadata=metadata, data={"mode": mode})
    until_cached(api.create_namespaced_config_map("default", body))


def change(name, mode, **labels):
    body = {"data": {"mode": mode}, "metadata": {"labels": labels}}
    until_cached(api.patch_namespaced_config_map(name, "default", body))


def mode(body):
    """The one projected field. The trailer says that there was no issue."""
    data = Bytes(body)
    value = option(TEXT).read(data)
    assert (U32.read(data), U32.read(data), data.more()) == (0, 0, False), body
    return value


def text_of(view, body):
    return mode(body) if view.asked["projection"] else len(json.loads(body)["data"]["mode"])


def follow(node, view, until):
    """Says what comes, up to a notice of this kind, and answers what is asked."""
    while True:
        for frame in node.receive():
            if frame.name == "Compare":
                print("COMPARE")
                node.send(view.buckets(frame.buckets))
            for kind, what, more in view.apply(frame):
                # The bookmark that ends a difference may come without a digest; one that has it follows.
                if (kind, what) == ("Bookmark", "absent"):
                    continue
                print(kind.upper(), what, *([text_of(view, more)] if isinstance(more, bytes) else []))
                if kind == until:
                    return


for number in range(3):
    create(f"n-{number}", "heat", tier="a")
create("other", "heat", tier="b")

view = View("configmaps", scope, labels="tier=a", projection="data.mode:text(8)")
print("# a snapshot, then what happens")
session = connect(view)
follow(session, view, "Bookmark")
change("n-0", "cool", tier="a")
follow(session, view, "Modified")
change("n-1", "heat", tier="b")
follow(session, view, "Deleted")
change("other", "dry", tier="a")
follow(session, view, "Added")

print("# cut off, and resumed where it was")
session.socket.close()
change("n-2", "fan", tier="a")
api.delete_namespaced_config_map("other", "default")
change("n-1", "heat", tier="c")
session = connect(view)
follow(session, view, "Bookmark")

print("# a view that is wrong is put right by the difference")
session.socket.close()
view.objects["default/ghost"] = (1, b"")
revision, body = view.objects.pop("default/n-0")
session = connect(view)
follow(session, view, "Bookmark")
view.objects["default/n-2"] = (1, b"")
session.send(view.subscribe(start=("Repair", view.origin)))
follow(session, view, "Bookmark")

print("# another origin")
session.send(view.subscribe(start=("Resume", bytes(8), view.revision, digest(view.members()))))
follow(session, view, "Bookmark")

print("# a snapshot, cut off when the credit is used up, then continued")
for number in range(10):
    create(f"s-{number}", "heat", tier="s")
part = View("configmaps", scope, labels="tier=s", projection="data.mode:text(8)")
session = connect(part, credit=160, packet=128)
while part.mark in (None, "default/s-0"):
    for frame in session.receive():
        part.apply(frame)
session.socket.close()
mark = part.mark
print("HELD a part", len(part.objects) < 10)
change("s-0", "cool", tier="s")
session, shown = connect(part), []
while not shown or shown[-1][0] != "Bookmark":
    for frame in session.receive():
        shown += part.apply(frame)
keys = sorted(key for kind, key, _ in shown if kind in ("Added", "Modified"))
wanted = sorted(key for key in part.objects if key > mark or key == "default/s-0")
print(shown[0][1].upper(), len(keys) < 10, keys == wanted, shown[-1][1])
session.socket.close()

print("# whole objects: split, and too large")
create("w-large", "x" * 3000, tier="w")
create("w-small", "x" * 1000, tier="w")
whole = View("configmaps", scope, labels="tier=w")
session = connect(whole, packet=256, objects=2048)
follow(session, whole, "Bookmark")
session.socket.close()

print("# the latest state only, when the credit does not suffice for all")
create("l", "0", tier="l")
latest = View("configmaps", scope, labels="tier=l", projection="data.mode:text(8)", mode=("Latest",))
session = connect(latest, credit=1)
follow(session, latest, "Added")
for number in range(1, 6):
    change("l", str(number), tier="l")
session.send(Frame(name="Credit", sub=0, bytes=10000))
states, notices = 0, []
while mode(latest.objects["default/l"][1]) != "5" or not notices or notices[-1][0] != "Bookmark":
    notices = [notice for frame in session.receive() for notice in latest.apply(frame)]
    states += sum(1 if kind == "Modified" else more for kind, _, more in notices if kind in ("Modified", "Bookmark"))
print("SEEN OR SKIPPED", states)

print("# so many packets each way that their keys are replaced")
for token in range(packets):
    session.send(Frame(name="Ping", token=token))
    (answer,) = session.receive()
    assert (answer.name, answer.token) == ("Pong", token), answer
print("PONG")

print("# a restart is noted, however often it is told")
restart = Frame(name="Restarted", node="", boot=3, cause=("Stack",), detail="the stack was too deep")
for _ in range(2):
    session.send(restart)
    (noted,) = session.receive()
    print(noted.name.upper(), noted.boot)

print("# what is refused")
session.send(View("configmaps", scope, labels="tier in").subscribe())
follow(session, latest, "Failed")
session.send(View("configmaps", ("Namespace", "kube-system")).subscribe())
follow(session, latest, "Failed")
session.send(View("spoons").subscribe())
follow(session, latest, "Failed")
old = connect(view, versions=(1, 1))
follow(old, view, "Bookmark")
old.send(restart)
(goodbye,) = old.receive()
print("VERSION", old.version, goodbye.name.upper(), *goodbye.code)
try:
    connect(view, versions=(3, 9))
except Refused as error:
    print("REFUSED", error)
try:
    Node("heater-1", bytes(32)).connect((host, int(port)), view.subscribe())
except Refused as error:
    print("REFUSED", error)
