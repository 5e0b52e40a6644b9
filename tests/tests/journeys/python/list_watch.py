"""Lists and watches by the official client. Says what it saw, one line each; the test compares."""

import sys
import threading

from kubernetes import client, config, watch

config.load_kube_config(config_file=sys.argv[1])
api = client.CoreV1Api()
namespace = "default"


def config_map(name, value):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data={"value": value})


def say(kind, item):
    print(kind, item.metadata.name, item.data["value"], flush=True)


for number in range(5):
    api.create_namespaced_config_map(namespace, config_map(f"n-{number}", "0"))

# In pages.
token, items, revision = None, [], None
while True:
    page = api.list_namespaced_config_map(namespace, limit=2, _continue=token)
    assert revision in (None, page.metadata.resource_version), "the revision of a list is one"
    revision, token = page.metadata.resource_version, page.metadata._continue
    items += page.items
    if not token:
        break
for item in items:
    say("LISTED", item)


def write():
    api.create_namespaced_config_map(namespace, config_map("new", "1"))
    api.patch_namespaced_config_map("n-0", namespace, {"data": {"value": "2"}})
    api.delete_namespaced_config_map("n-1", namespace)


# From the list on, while another thread writes.
writer = threading.Thread(target=write)
stream = watch.Watch()
events = stream.stream(api.list_namespaced_config_map, namespace, resource_version=revision, timeout_seconds=25)
writer.start()
for event in events:
    say(event["type"], event["object"])
    if event["type"] == "DELETED":
        stream.stop()
writer.join()

# A watch without a start begins with what there is; it ends by its time.
for event in watch.Watch().stream(api.list_namespaced_config_map, namespace, label_selector="!none", timeout_seconds=1):
    say("REPLAYED", event["object"])

# A revision that is none is refused, as an exception.
try:
    api.list_namespaced_config_map(namespace, resource_version="x")
except client.ApiException as error:
    print("REFUSED", error.status, error.reason)
