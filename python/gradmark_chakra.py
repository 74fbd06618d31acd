# SPDX-License-Identifier: Apache-2.0
"""Write the trace of a run for simulators: one file for each rank, in the format of MLCommons Chakra.

    python -m gradmark chakra TIMELINE MESSAGES PREFIX

TIMELINE and MESSAGES are what one `gradmark train --timeline FILE --messages FILE` wrote. The files are PREFIX.0.et,
PREFIX.1.et and so on: a GlobalMetadata, then Nodes, each behind its length. This module needs the package protobuf.

Invariants
  C1  A message is one send node and one receive node, with the same size (body and header) and the same tag. The tag
      is the message's number between its two ranks, so no two messages of a pair are confused.
  C2  A rank's time outside messages is compute nodes. A task's compute nodes follow each other.
  C3  A compute node depends on the messages that its rank had received when it began, and a send on all that its rank
      had computed and received when it was posted. So the pull of a step is before the gradient of the next one, and
      the gradient is before its push. Messages from one rank are received in the recorded order.
  C4  All dependencies are data_deps, the only ones that Chakra's feeder follows. Each is on a node with a smaller id.
      No message was received before it was sent. So there is no cycle, over all ranks together.
"""

import bisect
import csv
import io
import json
import math
import os
import types

COMP, SEND, RECEIVE = 4, 5, 6  # NodeType

# What spans are (docs/files.md): work of the rank; work but for the time in which messages are outstanding; no work
BUSY = {"compute", "wait for input", "apply", "follow", "reply"}
EXCHANGE = {"step", "push and pull", "reduce", "copy"}
IDLE = {"wait", "queue", "ask", "replicate"}

COLUMNS = "rank,step,direction,peer,tag,start_s,end_s,bytes_count,header_bytes_count,offset_bytes,adds"
AGAIN = "use the two files of one gradmark train --timeline TIMELINE --messages MESSAGES"

# Messages and fields of schema/protobuf/et_def.proto, https://github.com/mlcommons/chakra, commit 21585d8. Fields that
# this module does not write are left out.
SCHEMA = {
    "AttributeProto": "name=1:string int32_val=7:int32 int64_val=9:int64 bool_val=27:bool",
    "GlobalMetadata": "version=1:string",
    "Node": "id=1:uint64 name=2:string type=3:NodeType data_deps=5:uint64* start_time_micros=6:uint64 "
    "duration_micros=7:uint64 attr=10:AttributeProto*",
}
VERSION = "1.0.0"


def convert(timeline, messages, prefix):
    """Write PREFIX.RANK.et of every rank, and return {path: what is in it}."""
    schema = _schema()
    tasks, sum_ns = _read_timeline(timeline)
    sends, receives = _read_messages(messages, tasks)
    if _sum_ns(sends, receives) != sum_ns:
        raise ValueError(f"{timeline} and {messages} are of two runs, or {messages} was changed: {AGAIN}")
    written = {}
    more = f"{prefix}.{len(tasks)}.et"
    if os.path.exists(more):
        raise ValueError(f"{more}: of a run with more ranks: use another PREFIX, or remove its files")
    for rank in sorted(tasks):
        nodes = _nodes_of(tasks[rank], sends.get(rank, []), receives.get(rank, []))
        path = f"{prefix}.{rank}.et"
        messages_of_rank = [schema.GlobalMetadata(version=VERSION)] + [_encoded(schema, node) for node in nodes]
        _write_whole(path, (message.SerializeToString() for message in messages_of_rank))
        n_sent_bytes = sum(node.n_bytes for node in nodes if node.type == SEND)
        counts = {kind: sum(node.type == kind for node in nodes) for kind in (COMP, SEND, RECEIVE)}
        written[path] = "%d compute nodes, %d sends of %d bytes, %d receives" % (
            counts[COMP], counts[SEND], n_sent_bytes, counts[RECEIVE]
        )
    return written


def _write_whole(path, messages):
    """A file that cannot be written to its end is not there."""
    try:
        with open(path, "wb") as file:
            for data in messages:
                file.write(_varint(len(data)) + data)
    except OSError as error:
        if error.filename is None:  # it was opened
            os.remove(path)
        raise


# --- what the run wrote ---


def _read_timeline(path):
    """{rank: {task's number: its spans}}, and what the times of its messages sum up to. A span is outside those that
    follow and begin before it ends."""
    try:
        with open(path, encoding="utf-8") as file:
            timeline = json.load(file)
        about, events = timeline["otherData"], timeline["traceEvents"]
        options = about["run"]["options"]
        n_lost = sum(sum(tasks.values()) for tasks in about["lost_spans_count"].values())
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not a whole timeline of gradmark train ({_said(error)}): {AGAIN}") from None
    if not options.get("messages"):
        raise ValueError(f"{path}: this run wrote no messages: {AGAIN}")
    if n_lost:
        raise ValueError(f"{path}: {n_lost} spans are lost, as the run was too long: use fewer --steps")
    if "messages_sum_ns" not in about["run"]:
        raise ValueError(f"{path}: an older gradmark wrote it, and does not tell its messages from others: {AGAIN}")
    try:
        return _tasks_of(events, path), about["run"]["messages_sum_ns"]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: an event is not of gradmark train ({_said(error)}): {AGAIN}") from None


def _tasks_of(events, path):
    """{rank: {task's number: its spans}} of a timeline's events."""
    tasks = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            tasks.setdefault(event["pid"] - 1, {})[event["tid"]] = types.SimpleNamespace(
                name=event["args"]["name"], spans=[]
            )
    for event in events:
        if event["ph"] == "X":
            if event["name"] not in BUSY | EXCHANGE | IDLE:
                raise ValueError(f"{path}: no span {event['name']} is known: use the module of the same gradmark")
            start, submitted = round(event["ts"] * 1000), event["args"].get("submitted_us")
            tasks[event["pid"] - 1][event["tid"]].spans.append(
                types.SimpleNamespace(
                    name=event["name"],
                    start=start,
                    end=start + round(event["dur"] * 1000),
                    step=event["args"]["step"],
                    submitted=None if submitted is None else round(submitted * 1000),
                )
            )
    return tasks


def _read_messages(path, ranks):
    """({rank: its sends}, {rank: its receives}), each with its number between the two ranks as its tag."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if not text.startswith(COLUMNS + "\n"):
        raise ValueError(f"{path}: line 1 is not {COLUMNS}: {AGAIN}")
    if not text.endswith("\n"):
        raise ValueError(f"{path}: the last line is cut off: {AGAIN}")
    ends = {"send": {}, "receive": {}}  # of all messages from one rank to another that have one tag and size
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
        try:
            rank, peer = int(row["rank"]), int(row["peer"])
            message = types.SimpleNamespace(
                rank=rank,
                peer=peer,
                line=number,
                step=row["step"],
                start=round(float(row["start_s"]) * 1e9),
                end=round(float(row["end_s"]) * 1e9),
                n_bytes=int(row["bytes_count"]) + int(row["header_bytes_count"]),
            )
            route = (rank, peer) if row["direction"] == "send" else (peer, rank)
            ends[row["direction"]].setdefault((*route, int(row["tag"]), message.n_bytes), []).append(message)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{path}: line {number} is not a message: {AGAIN}") from None
        if rank not in ranks or peer not in ranks:
            raise ValueError(f"{path}: line {number}: the timeline has no rank {max(rank, peer)}: {AGAIN}")
    return _paired(path, ends)


def _sum_ns(sends, receives):
    """The sum of all times, each since the first, as harness/train/messages.h has it."""
    times = [message for of_rank in (*sends.values(), *receives.values()) for message in of_rank]
    first = min(message.start for message in times)
    return sum(message.start + message.end - 2 * first for message in times) % 2**53


def _paired(path, ends):
    pairs = []
    for route in sorted(ends["send"].keys() | ends["receive"].keys()):
        sent = sorted(ends["send"].get(route, []), key=lambda message: message.start)
        received = sorted(ends["receive"].get(route, []), key=lambda message: message.end)
        for alone in sent[len(received) :] + received[len(sent) :]:
            raise ValueError(
                f"{path}: line {alone.line}: a message from rank {route[0]} to rank {route[1]} of {route[3]} bytes has "
                f"one end only: the file is cut off, or a rank was lost: {AGAIN}, of a run that ends by itself"
            )
        pairs += zip(sent, received)
    if not pairs:
        raise ValueError(f"{path}: no messages: use --mode allreduce or ps with several ranks")
    sends, receives, n_between = {}, {}, {}
    for send, receive in sorted(pairs, key=lambda pair: pair[0].start):
        if receive.end <= send.start:
            raise ValueError(
                f"{path}: line {receive.line}: received before it was sent on line {send.line}: the clocks of the two "
                "hosts differ too much: use one host, or --world sim"
            )
        route = send.rank, receive.rank
        send.tag = receive.tag = n_between[route] = n_between.get(route, -1) + 1
        sends.setdefault(send.rank, []).append(send)
        receives.setdefault(receive.rank, []).append(receive)
    return sends, receives


# --- the nodes of a rank ---


def _nodes_of(tasks, sends, receives):
    """All nodes of a rank in the order of their ids (C4)."""
    receives = sorted(receives, key=lambda message: message.end)
    work = _work(list(tasks.values()), sends, receives)
    _depend(work, sends, receives)
    nodes = [(message.end, 0, message) for message in receives]
    nodes += [(piece.start, 1, piece) for pieces in work for piece in pieces]
    nodes += [(message.start, 2, message) for message in sends]
    nodes.sort(key=lambda node: node[:2])
    for number, (_, kind, node) in enumerate(nodes):
        node.id, node.type = number, (RECEIVE, COMP, SEND)[kind]
    assert all(before.id < node.id for _, _, node in nodes for before in node.after)
    return [node for _, _, node in nodes]


def _work(tasks, sends, receives):
    """The compute nodes of each task. A send, and a gradient that is ready, ends one, as what follows is later."""
    outstanding = _union((message.start, message.end) for message in sends + receives)
    ready = [span.submitted for task in tasks for span in task.spans if span.submitted is not None]
    posted = [message.start for message in sends]
    exchanging = "communicator" if any(task.name == "communicator" for task in tasks) else "main"
    work = []
    for task in tasks:
        cuts = sorted(set((ready if task.name == "main" else []) + (posted if task.name == exchanging else [])))
        pieces = []
        for span, start, end in _self_times(task.spans):
            if span.name in BUSY:
                inner = cuts[bisect.bisect_right(cuts, start) : bisect.bisect_left(cuts, end)]
                edges = [start, *inner, end]
                pieces += [_piece(span, *edge, edge[0] == start) for edge in zip(edges, edges[1:])]
            elif span.name in EXCHANGE:
                pieces += [_piece(span, *free, True) for free in _without(outstanding, start, end)]
        work.append([piece for piece in pieces if piece.name in BUSY or _micros(piece)])
    return work


def _piece(span, start, end, begins):
    return types.SimpleNamespace(name=span.name, step=span.step, start=start, end=end, begins=begins)


def _self_times(spans):
    """(span, start, end) of all times in which a span is the innermost, in order. None of them is empty."""
    around, now = [], 0

    def until(end):
        if around and end > now:
            yield around[-1], now, end

    for span in spans:
        while around and around[-1].end <= span.start:
            yield from until(around[-1].end)
            now = around.pop().end
        yield from until(span.start)
        around.append(span)
        now = span.start
    while around:
        yield from until(around[-1].end)
        now = around.pop().end


def _union(intervals):
    joined = []
    for start, end in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return joined


def _without(intervals, start, end):
    """The parts of start .. end that are in none of the intervals, which are in order and disjoint."""
    at = max(bisect.bisect_right(intervals, [start, math.inf]) - 1, 0)
    while at < len(intervals) and intervals[at][0] < end:
        if start < intervals[at][0]:
            yield start, intervals[at][0]
        start = max(start, intervals[at][1])
        at += 1
    if start < end:
        yield start, end


def _depend(work, sends, receives):
    """C3: each node's `after`, the nodes that it depends on."""
    arrived = [message.end for message in receives]
    ended = [[piece.end for piece in pieces] for pieces in work]
    last = {}
    for message in receives:
        message.after = [last[message.peer]] if message.peer in last else []
        last[message.peer] = message

    def at(time, node, own=None):
        """All that this rank has done at a time: its last piece of each task, and messages that these do not have."""
        before = [
            pieces[bisect.bisect_right(ended[task], time) - 1]
            for task, pieces in enumerate(work)
            if task != own and pieces and ended[task][0] <= time
        ]
        if own is not None and node.previous:
            before.append(node.previous)
        n_known = max((piece.n_received for piece in before), default=0)
        node.n_received = bisect.bisect_right(arrived, time)
        # A send follows the piece that ends when it is posted. What a server took at that moment, it took afterwards.
        follows = own is None and any(piece.end == time for piece in before)
        new = [m for m in receives[n_known : node.n_received] if not (follows and m.start == m.end == time)]
        by_peer = {message.peer: message for message in new}
        node.after = before + list(by_peer.values())

    pieces = []
    for task, own in enumerate(work):
        for previous, piece in zip([None, *own], own):
            piece.previous, piece.task = previous, task
        pieces += own
    for piece in sorted(pieces, key=lambda piece: piece.start):
        if piece.begins or not piece.previous:
            at(piece.start, piece, piece.task)
        else:
            piece.after, piece.n_received = [piece.previous], piece.previous.n_received
    for message in sends:
        at(message.start, message)


# --- the file ---


def _schema():
    """The classes of SCHEMA, which protobuf makes without a generated file."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise ValueError("the package protobuf is missing: pip install ./python[chakra]") from None
    file = descriptor_pb2.FileDescriptorProto(name="gradmark/et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    node_type = file.enum_type.add(name="NodeType")
    for name, number in ("INVALID_NODE", 0), ("COMP_NODE", COMP), ("COMM_SEND_NODE", SEND), ("COMM_RECV_NODE", RECEIVE):
        node_type.value.add(name=name, number=number)
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
        for text in fields.split():
            field, number, kind = text.replace("=", ":").split(":")
            made = message.field.add(name=field, number=int(number))
            made.label = made.LABEL_REPEATED if kind.endswith("*") else made.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in ("NodeType", "AttributeProto"):
                made.type = made.TYPE_ENUM if kind == "NodeType" else made.TYPE_MESSAGE
                made.type_name = ".ChakraProtoMsg." + kind
            else:
                made.type = getattr(made, "TYPE_" + kind.upper())
            if field.endswith("_val"):
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    class_of = getattr(message_factory, "GetMessageClass", None)  # protobuf 3, as of Debian 12, has the other one
    class_of = class_of or message_factory.MessageFactory(pool).GetPrototype
    made = {name: class_of(pool.FindMessageTypeByName("ChakraProtoMsg." + name)) for name in SCHEMA}
    return types.SimpleNamespace(**made)


def _encoded(schema, node):
    encoded = schema.Node(
        id=node.id,
        type=node.type,
        data_deps=sorted({before.id for before in node.after}),
        start_time_micros=max(_rounded(node.start), 0),
        duration_micros=_micros(node),
    )
    encoded.attr.add(name="is_cpu_op", bool_val=False)  # ASTRA-sim's statistics end at one that is
    if node.type == COMP:
        encoded.name = f"{node.name}, step {node.step}"
        return encoded
    source, target = (node.rank, node.peer) if node.type == SEND else (node.peer, node.rank)
    encoded.name = f"send to rank {target}" if node.type == SEND else f"receive from rank {source}"
    encoded.attr.add(name="comm_size", int64_val=node.n_bytes)
    for name, value in ("comm_src", source), ("comm_dst", target), ("comm_tag", node.tag):
        encoded.attr.add(name=name, int32_val=value)
    return encoded


def _rounded(time):
    return (time + 500) // 1000


def _micros(node):
    """Both ends are rounded, so the durations of nodes that follow each other add up."""
    return _rounded(node.end) - _rounded(node.start)


def _varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data + bytes([value]))


def _said(error):
    return f"no {error}" if isinstance(error, KeyError) else str(error)
