"""A kernel that publishes two outputs of a request after its reply and its idle state: one before each of the next two
answers.

It speaks ZMTP and Jupyter's protocol with the standard library alone, one request at a time.
"""

import hashlib
import hmac
import json
import socket
import struct
import sys
import threading
import uuid

with open(sys.argv[1]) as file:
    connection = json.load(file)
peers, late = {}, []


def exactly(s, size):
    data = b""
    while len(data) < size:
        part = s.recv(size - len(data))
        if not part:
            sys.exit()
        data += part
    return data


def frame(s):
    flags = exactly(s, 1)[0]
    size = struct.unpack(">Q", exactly(s, 8))[0] if flags & 2 else exactly(s, 1)[0]
    return flags, exactly(s, size)


def write(s, *parts):
    data = b"".join(
        struct.pack(">BQ", 2 | (i < len(parts) - 1), len(part)) + part for i, part in enumerate(parts)
    )
    s.sendall(data)


def send(channel, kind, parent, content):
    header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "late", "username": "", "version": "5.3"}
    parts = [json.dumps(part).encode() for part in (header, parent, {}, content)]
    signature = hmac.new(connection["key"].encode(), b"".join(parts), hashlib.sha256).hexdigest().encode()
    write(peers[channel], b"<IDS|MSG>", signature, *parts)


def request(parts):
    header, _, _, content = (json.loads(part) for part in parts[parts.index(b"<IDS|MSG>") + 2 :][:4])
    if late:
        send("iopub", *late.pop(0))
    send("iopub", "status", header, {"execution_state": "busy"})
    if header["msg_type"] == "kernel_info_request":
        send("shell", "kernel_info_reply", header, {"implementation": "late", "language_info": {"name": "none"}})
    elif header["msg_type"] == "execute_request":
        result = {"execution_count": 1, "metadata": {}, "data": {"text/plain": content["code"]}}
        late.append(("execute_result", header, result))
        late.append(("stream", header, {"name": "stdout", "text": "later\n"}))
        send("shell", "execute_reply", header, {"status": "ok", "execution_count": 1})
    send("iopub", "status", header, {"execution_state": "idle"})


def serve(channel, listener):
    s, _ = listener.accept()
    s.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL".ljust(55, b"\0"))
    exactly(s, 64)
    kind = b"PUB" if channel == "iopub" else b"ROUTER"
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    s.sendall(bytes([4, len(ready)]) + ready)
    frame(s)
    peers[channel] = s
    everybody.wait()
    while True:
        parts = []
        more = 1
        while more & 1:
            more, part = frame(s)
            parts.append(part)
        if b"<IDS|MSG>" in parts and channel == "shell":
            request(parts)


everybody = threading.Barrier(4)
for name in ("shell", "iopub", "stdin", "control"):
    listening = socket.create_server((connection["ip"], connection[name + "_port"]))
    threading.Thread(target=serve, args=(name, listening)).start()
