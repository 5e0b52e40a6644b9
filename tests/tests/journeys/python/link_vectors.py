"""Holds node_link.py to the test vectors: python link_vectors.py FOLDER. Says how many of each there were."""

import re
import sys
from pathlib import Path

from node_link import Bytes, Node, Refused, View, decode, encode, serial, stream
from noise.connection import Keypair

FOLDER = Path(sys.argv[1])
# Words of the notation that are around a value rather than one.
AROUND = {"Control", "Origin", "Revision", "Some", "Known", "New", "Whole", "First", "Restart"}


def sections(file):
    lines = [line for line in (FOLDER / file).read_text().splitlines() if not line.startswith("#")]
    for section in re.split(r"^== ", "\n".join(lines), flags=re.M)[1:]:
        title, _, rest = section.partition("\n")
        yield title, rest.strip("\n").split("\n")


def values(of):
    """The values in a frame, in order."""
    if isinstance(of, (bytes, tuple, list)):
        return [value for part in of for value in values(part)]
    if isinstance(of, str):
        return [of]
    return ["None" if of is None else str(of).lower() if isinstance(of, bool) else str(of)]


def said(text):
    """The values in a frame as the vectors write it."""
    words = re.findall(r'"([^"]*)"|(-?\d+)|\b([A-Za-z]+)\b(?!:)', text.replace("bookmark_every:", "").replace("ends_snapshot:", ""))
    words = [quoted + number + word for quoted, number, word in words]
    words = [word for word in words if word not in AROUND]
    return words[1:] if words[0] == words[1] else words


def shown(frame):
    fields = vars(frame)
    if frame.name != "Event":
        return values(list(fields.values()))
    key = [frame.slot] if frame.key is None else [frame.slot, frame.key]
    body = [] if frame.total is None else [frame.total]
    body += ["None"] if frame.body is None else [frame.body]
    return values([frame.name, frame.sub, frame.kind, frame.settles, frame.revision, *key, frame.mark, *body])


frames = refused = packets = 0
for title, lines in sections("frames.txt"):
    data = Bytes(bytes.fromhex("".join(line.partition("|")[0] for line in lines if not line.startswith("="))))
    if title.startswith("refused"):
        try:
            decode(data)
        except Refused:
            refused += 1
            continue
        sys.exit(f"{title}: taken")
    frame = decode(data)
    assert not data.more(), f"{title}: too short"
    text = next(line for line in lines if line.startswith("="))
    assert shown(frame) == said(text), f"{title}:\n{shown(frame)}\n{said(text)}"
    assert encode(frame) == data.data, title
    frames += 1

for title, lines in sections("wire.txt"):
    packet, wire = (bytes.fromhex(line.split(maxsplit=1)[1]) for line in lines)
    framing, number = title.split()
    assert wire == (stream(packet) if framing == "stream" else serial(int(number), packet)), title
    packets += 1

text = (FOLDER / "session.txt").read_text()
secret, seed = (bytes.fromhex(re.search(f"^{name} (.*)$", text, re.M)[1]) for name in ("key", "node's seed"))
exchange = [(who, bytes.fromhex(data)) for who, data in re.findall(r"^(node|server) +([0-9a-f ]{8,})$", text, re.M)]
node, view = Node("lamp-1", secret, packet=256, objects=0, slots=4, longest_key=32), View("lamps", projection="spec.on:bool")
node.noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, seed)
asked = view.subscribe()
asked.bookmark_every = 30000
assert exchange[0] == ("node", stream(node.hello(asked))), "Hello"
node.welcome(exchange[1][1][2:])
seen = [notice for frame in node.open(exchange[2][1][2:]) for notice in view.apply(frame)]
assert seen == [("Started", "Snapshot", None), ("Added", "a/x", bytes([1, 1, 0, 0])), ("Bookmark", "equal", 0)], seen
restarted = decode(Bytes(b"\x0e\0\2\2\0"))
assert exchange[3] == ("node", stream(node.seal(restarted))), "Restarted"
(noted,) = node.open(exchange[4][1][2:])
assert (noted.name, noted.boot, node.version) == ("Noted", 2, 2), noted
goodbye = decode(Bytes(b"\6\0"))
assert exchange[5] == ("node", stream(node.seal(goodbye))), "Goodbye"
print(frames, "frames,", refused, "refused,", packets, "packets,", len(exchange), "of a sealed session")
