"""The node's end of the node link, written from docs/node-link.md and nothing else."""

import re
import socket
import struct
import unicodedata
import zlib
from collections import namedtuple
from types import SimpleNamespace as Frame

from noise.connection import NoiseConnection

NOISE = b"Noise_NNpsk0_25519_ChaChaPoly_SHA256"
UNLIMITED, REKEY_EVERY = 0xFFFFFFFF, 65536


class Refused(Exception):
    """Bytes that are not what the page describes."""


# Fields: how each type is read from `Bytes`, and how it is written.

Type = namedtuple("Type", "read write")


class Bytes:
    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def take(self, count):
        taken = self.data[self.at : self.at + count]
        check(len(taken) == count, "it ends early")
        self.at += count
        return taken

    def more(self):
        return self.at < len(self.data)


def check(holds, otherwise):
    if not holds:
        raise Refused(otherwise)


def number(bits=64, low=0, high=None):
    high = (1 << bits) - 1 if high is None else high

    def read(data):
        value = 0
        for shift in range(0, 70, 7):
            byte = data.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                check(low <= value <= high, "a number out of its bounds")
                return value
        raise Refused("a number without an end")

    def write(value):
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + write(value >> 7)

    return Type(read, write)


def read_text(data):
    try:
        return BLOB.read(data).decode()
    except UnicodeDecodeError as error:
        raise Refused("not UTF-8") from error


def read_key(data):
    key = read_text(data)
    parts = key.split("/")
    check(len(parts) <= 2 and not {"", ".", ".."} & set(parts), "no key")
    check(len(key.encode()) <= 317 and not re.search("[%\0-\x1f]", key), "no key")
    return key


def line(longest):
    """A text of one line."""

    def read(data):
        text = read_text(data)
        check(len(text.encode()) <= longest and not any(unicodedata.category(c) == "Cc" for c in text), "not a line")
        return text

    return Type(read, TEXT.write)


def read_flag(data):
    value = U8.read(data)
    check(value < 2, "neither true nor false")
    return value == 1


def read_signed(data):
    value = U64.read(data)
    return value >> 1 ^ -(value & 1)


def option(of):
    return Type(
        lambda data: of.read(data) if FLAG.read(data) else None,
        lambda value: b"\0" if value is None else b"\1" + of.write(value),
    )


def choice(**cases):
    """One of several: its number, then its fields. The value is a tuple that begins with the name."""
    names = list(cases)

    def read(data):
        chosen = U32.read(data)
        check(chosen < len(names), "an unknown choice")
        return (names[chosen], *(of.read(data) for of in cases[names[chosen]]))

    def write(value):
        parts = zip(cases[value[0]], value[1:], strict=True)
        return U32.write(names.index(value[0])) + b"".join(of.write(part) for of, part in parts)

    return Type(read, write)


U8 = Type(lambda data: data.take(1)[0], lambda value: bytes([value]))
U16, U32, U64 = number(16), number(32), number(64)
EIGHT = Type(lambda data: data.take(8), bytes)
BLOB = Type(lambda data: data.take(U32.read(data)), lambda value: U32.write(len(value)) + value)
TEXT = Type(read_text, lambda value: BLOB.write(value.encode()))
KEY = Type(read_key, TEXT.write)
FLAG = Type(read_flag, U8.write)
SIGNED = Type(read_signed, lambda value: U64.write(value << 1 if value >= 0 else ~value << 1 | 1))
SUB, ROUND, BUCKETS = U8, U8, number(low=1, high=64)
CODES = """Done ShuttingDown Protocol Version Refused Revoked Silent Expired Forbidden UnknownResource BadSelector
    BadProjection TooMany Unavailable Unsupported"""
CODE = choice(**dict.fromkeys(CODES.split(), ()))
SCOPE = choice(Resource=(), Namespace=(TEXT,), Object=(KEY,))
MODE = choice(Every=(), Latest=())
START = choice(Snapshot=(), Continue=(EIGHT, U64, KEY), Resume=(EIGHT, U64, option(EIGHT)), Repair=(EIGHT,))
CAUSE = choice(Panic=(), Fault=(), Stack=(), Watchdog=(), Other=())
HOW = choice(Snapshot=(), Continued=(), Resumed=(), Difference=(BUCKETS, U64))

FRAMES = [
    ("Subscribe", dict(sub=SUB, round=ROUND, resource=TEXT, scope=SCOPE, labels=TEXT, fields=TEXT, projection=TEXT)
     | dict(mode=MODE, start=START, bookmark_every=U32, credit=U32)),
    ("Unsubscribe", dict(sub=SUB)),
    ("Credit", dict(sub=SUB, bytes=U32)),
    ("Buckets", dict(sub=SUB, digests=BLOB)),
    ("Ping", dict(token=U32)),
    ("Pong", dict(token=U32)),
    ("Goodbye", dict(code=CODE)),
    ("Started", dict(sub=SUB, round=ROUND, origin=EIGHT, revision=U64, how=HOW)),
    ("Compare", dict(sub=SUB, round=ROUND, buckets=BUCKETS)),
    ("Bookmark", dict(sub=SUB, revision=U64, digest=option(EIGHT), age=U32, skipped=U32, ends_snapshot=FLAG)),
    ("Kept", dict(sub=SUB, key=KEY)),
    ("TooLarge", dict(sub=SUB, revision=U64, key=KEY, size=U32)),
    ("Part", dict(bytes=BLOB)),
    ("Failed", dict(sub=SUB, round=ROUND, code=CODE, detail=U32)),
    ("Restarted", dict(node=line(127), boot=U32, cause=CAUSE, detail=line(120))),
    ("Noted", dict(boot=U32)),
]  # fmt: skip
KINDS = ("Added", "Modified", "Deleted")


def decode(data):
    kind = data.take(1)[0]
    if kind & 128:
        return decode_event(kind, data)
    check(kind < len(FRAMES), "an unknown kind")
    name, fields = FRAMES[kind]
    return Frame(name=name, **{field: of.read(data) for field, of in fields.items()})


def decode_event(flags, data):
    change, split = flags & 3, flags & 16
    check(change != 3 and not flags & 64 and not (change == 2 and split), "flags that no event has")
    frame = Frame(name="Event", sub=SUB.read(data), kind=KINDS[change], settles=bool(flags & 4))
    frame.revision = SIGNED.read(data)
    if flags & 8:
        slot = number(high=65536).read(data)
        frame.slot, frame.key = (slot - 1 if slot else None), KEY.read(data)
    else:
        frame.slot, frame.key = U16.read(data), None
    frame.mark = SIGNED.read(data) if flags & 32 else None
    frame.total = U32.read(data) if split else None
    frame.body = None if change == 2 else BLOB.read(data)
    check(not split or frame.total > len(frame.body), "a split body that is whole")
    return frame


def encode(frame):
    if frame.name != "Event":
        number = [name for name, _ in FRAMES].index(frame.name)
        return bytes([number]) + b"".join(of.write(getattr(frame, field)) for field, of in FRAMES[number][1].items())
    new, split, marked = frame.key is not None, frame.total is not None, frame.mark is not None
    flags = 128 | KINDS.index(frame.kind) | frame.settles << 2 | new << 3 | split << 4 | marked << 5
    slot = 0 if frame.slot is None else frame.slot + new
    rest = [(KEY, frame.key), (SIGNED, frame.mark), (U32, frame.total), (BLOB, frame.body)]
    head = bytes([flags, frame.sub]) + SIGNED.write(frame.revision) + U32.write(slot)
    return head + b"".join(of.write(value) for of, value in rest if value is not None)


# The wire.


def stream(packet):
    return struct.pack("<H", len(packet)) + packet


def serial(number, packet):
    plain = packet + struct.pack("<I", zlib.crc32(struct.pack("<I", number) + packet))
    out, block = bytearray(b"\0"), bytearray()
    for position, byte in enumerate(plain):
        if byte:
            block.append(byte)
        if not byte or (len(block) == 254 and position + 1 < len(plain)):
            out += bytes([len(block) + 1]) + block
            block.clear()
    return bytes(out + bytes([len(block) + 1]) + block + b"\0")


# The digest.


def sip_hash(data, key=b"ringwatch-digest", mask=(1 << 64) - 1):
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(a, by):
        v[a] = (v[a] << by | v[a] >> 64 - by) & mask

    def rounds(count):
        for a, b, by in [(0, 1, 13), (2, 3, 16), (2, 1, 17), (0, 3, 21)] * count:
            v[a] = v[a] + v[b] & mask
            turn(b, by)
            v[b] ^= v[a]
            if b == 1:
                turn(a, 32)

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def digest(members):
    total = sum(sip_hash(struct.pack("<Q", revision) + key.encode()) for key, revision in members)
    return struct.pack("<Q", total & (1 << 64) - 1)


def bucket(key, count):
    return sip_hash(key.encode()) % count


class Node:
    """A sealed session over TCP."""

    def __init__(self, name, secret, packet=512, objects=65536, slots=16, longest_key=64, versions=(1, 2)):
        self.versions = versions
        self.opening = b"RW" + bytes(versions) + b"\1" + TEXT.write(name)
        self.noise = NoiseConnection.from_name(NOISE)
        self.noise.set_as_initiator()
        self.noise.set_psks(secret)
        self.noise.set_prologue(self.opening)
        self.limits = U32.write(packet) + U32.write(objects) + U32.write(slots) + U8.write(longest_key)
        self.packet, self.keys, self.sent, self.received = packet, {}, 0, 0

    def hello(self, *frames):
        self.noise.start_handshake()
        return self.opening + bytes(self.noise.write_message(self.limits + b"".join(map(encode, frames))))

    def welcome(self, packet):
        self.version = packet[2]
        check(packet[:2] == b"RW" and self.versions[0] <= self.version <= self.versions[1], packet.hex(" "))
        data = Bytes(self.noise.read_message(packet[3:]))
        check(U8.read(data) == self.version and U16.read(data) >= 512, "a Welcome that is none")

    def connect(self, address, *frames):
        self.socket = socket.create_connection(address, timeout=30)
        self.socket.sendall(stream(self.hello(*frames)))
        self.welcome(self.read_packet(65535))
        return self

    def seal(self, *frames):
        sealed = self.noise.encrypt(b"".join(map(encode, frames)))
        self.sent += 1
        if self.sent % REKEY_EVERY == 0:
            self.noise.rekey_outbound_cipher()
        return sealed

    def open(self, packet):
        data = Bytes(self.noise.decrypt(packet))
        self.received += 1
        if self.received % REKEY_EVERY == 0:
            self.noise.rekey_inbound_cipher()
        frames = []
        while data.more():
            frames.append(frame := decode(data))
            if frame.name == "Event" and frame.key is None:
                frame.key = self.keys[frame.slot]
            elif frame.name == "Event" and frame.slot is not None:
                self.keys[frame.slot] = frame.key
        return frames

    def send(self, *frames):
        self.socket.sendall(stream(self.seal(*frames)))

    def receive(self):
        return self.open(self.read_packet(self.packet))

    def read_packet(self, longest):
        (length,) = struct.unpack("<H", self.read_exactly(2))
        check(0 < length <= longest, "a packet that is too long")
        return self.read_exactly(length)

    def read_exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data


class View:
    """What a node knows of one subscription. It outlives connections."""

    def __init__(self, resource, scope=("Resource",), labels="", projection="", mode=("Every",)):
        self.asked = dict(resource=resource, scope=scope, labels=labels, fields="", projection=projection, mode=mode)
        self.origin = self.mark = self.split = None
        self.revision, self.base, self.round = 0, 0, 0
        self.objects, self.missing, self.unnamed = {}, {}, set()

    def subscribe(self, credit=UNLIMITED, start=None):
        if self.origin is None:
            position = ("Snapshot",)
        elif self.mark is not None:
            position = ("Continue", self.origin, self.revision, self.mark)
        else:
            position = ("Resume", self.origin, self.revision, digest(self.members()))
        start = start or position
        self.round = self.round + 1 & 255
        return Frame(name="Subscribe", sub=0, round=self.round, **self.asked, start=start, bookmark_every=0, credit=credit)

    def members(self):
        return [(key, revision) for key, (revision, _) in self.objects.items()] + list(self.missing.items())

    def buckets(self, count):
        members = [[] for _ in range(count)]
        for key, revision in self.members():
            members[bucket(key, count)].append((key, revision))
        return Frame(name="Buckets", sub=0, digests=b"".join(map(digest, members)))

    def apply(self, frame):
        """Takes a frame; gives what became known by it, as (kind, key, body)."""
        return getattr(self, "on_" + frame.name.lower(), lambda _: [])(frame)

    def on_started(self, frame):
        how, known = frame.how[0], list(self.objects) + list(self.missing)
        if how == "Snapshot":
            self.unnamed = set(known)
        elif how == "Continued":
            self.unnamed = {key for key in known if key > self.mark}
        elif how == "Difference":
            _, count, differing = frame.how
            self.unnamed = {key for key in known if differing >> bucket(key, count) & 1}
        self.origin, self.base = frame.origin, frame.revision
        return [("Started", how, None)]

    def on_event(self, event):
        self.base += event.revision
        self.split = event
        return self.change(event) if event.total is None else []

    def on_part(self, part):
        self.split.body += part.bytes
        return self.change(self.split) if len(self.split.body) == self.split.total else []

    def change(self, event):
        self.unnamed.discard(event.key)
        self.missing.pop(event.key, None)
        known = self.objects.pop(event.key, None)
        if event.kind != "Deleted":
            known = self.objects[event.key] = (self.base, event.body)
        if event.mark is not None:
            self.mark, self.revision = event.key, self.base + event.mark
        elif event.settles:
            self.revision = self.base
        return [(event.kind, event.key, event.body)] if known else []

    def on_kept(self, frame):
        self.unnamed.discard(frame.key)
        return []

    def on_toolarge(self, frame):
        self.unnamed.discard(frame.key)
        self.objects.pop(frame.key, None)
        self.missing[frame.key] = frame.revision
        return [("TooLarge", frame.key, None)]

    def on_bookmark(self, frame):
        gone = sorted(self.unnamed) if frame.ends_snapshot else []
        for key in gone:
            self.objects.pop(key, None)
            self.missing.pop(key, None)
        if frame.ends_snapshot:
            self.unnamed, self.mark = set(), None
        self.base = self.revision = frame.revision
        equal = {None: "absent", digest(self.members()): "equal"}.get(frame.digest, "different")
        return [("Deleted", key, None) for key in gone] + [("Bookmark", equal, frame.skipped)]

    def on_failed(self, frame):
        return [("Failed", frame.code[0], frame.detail)]
