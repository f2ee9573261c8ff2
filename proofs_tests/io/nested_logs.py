"""Nested logs of four public formats, invented: ``python -m proofs_tests.io.nested_logs``.

Each format is as its producer writes it: CloudTrail one object around a list, audit logs of
Kubernetes and events of Elastic's common schema an object a line, OpenTelemetry an object a line
with lists inside lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).with_name("nested_logs")
COPIES = 15
ROWS = (4, 12)

Row = dict[str, Any]
USERS = ("ann", "bob", "eve", "ci")


def _time(n: int) -> str:
    return f"2026-03-{1 + n // 1440:02d}T{n // 60 % 24:02d}:{n % 60:02d}:00Z"


def cloudtrail(rng: Random, n: int) -> Row:
    """An event of AWS CloudTrail."""
    user = rng.choice(USERS)
    name = rng.choice(("ConsoleLogin", "AssumeRole", "GetObject", "DeleteObject"))
    identity: Row = {"type": rng.choice(("IAMUser", "AssumedRole")), "userName": user}
    identity["arn"] = f"arn:aws:iam::000000000000:user/{user}"
    if rng.random() < 0.6:
        attributes = {"mfaAuthenticated": rng.choice(("true", "false")), "creationDate": _time(n)}
        identity["sessionContext"] = {"attributes": attributes}
    bucket = {"bucketName": rng.choice(("logs", "data")), "maxItems": rng.choice((1, 2.5, 3.0))}
    row: Row = {
        "eventVersion": "1.08",
        "userIdentity": identity,
        "eventTime": _time(n),
        "eventName": name,
        "sourceIPAddress": f"192.0.2.{rng.randrange(3)}",
        "requestParameters": bucket if name.endswith("Object") else None,
        "responseElements": rng.choice((None, {"ConsoleLogin": "Success"})),
        "resources": [{"type": "AWS::S3::Bucket"}] if rng.random() < 0.5 else [],
        "eventID": f"{rng.getrandbits(32):08x}",
    }
    if rng.random() < 0.3:
        row["errorCode"] = "AccessDenied"
    return row


def kubernetes(rng: Random, n: int) -> Row:
    """An audit event of Kubernetes."""
    user, resource = rng.choice(USERS), rng.choice(("pods", "secrets", "nodes"))
    reference: Row = {"resource": resource, "name": f"x-{rng.randrange(3)}"}
    if resource != "nodes":
        reference["namespace"] = rng.choice(("web", "kube-system"))
    decision = rng.choice(("allow", "allow", "forbid"))
    row: Row = {
        "kind": "Event",
        "level": "Metadata",
        "auditID": f"{rng.getrandbits(32):08x}",
        "verb": rng.choice(("get", "create", "delete")),
        "user": {"username": user, "groups": ["dev", "system:authenticated"][: rng.randrange(3)]},
        "sourceIPs": ["192.0.2.1"],
        "objectRef": reference,
        "responseStatus": {"metadata": {}, "code": rng.choice((200, 201, 403))},
        "requestReceivedTimestamp": _time(n),
        "annotations": {"authorization.k8s.io/decision": decision},
    }
    if rng.random() < 0.4:  # of any type, as in objects of users
        row["requestObject"] = rng.choice(({"spec": {"replicas": 3}}, {"spec": "x"}, {"v": [1]}))
    return row


def opentelemetry(rng: Random, n: int) -> Row:
    """A log record of OpenTelemetry."""
    body: Row = {"stringValue": rng.choice(("started", "stopped", "slow"))}
    if rng.random() < 0.3:
        body = {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}]}}
    row: Row = {
        "timeUnixNano": str(1_772_000_000_000_000_000 + n * 60_000_000_000),
        "severityNumber": rng.choice((9, 13, 17)),
        "severityText": rng.choice(("INFO", "WARN", "ERROR")),
        "body": body,
        "attributes": [{"key": "http.method", "value": {"stringValue": "GET"}}],
        "context": {"trace": {"id": f"t{rng.randrange(3)}", "flags": rng.choice((0, 1, None))}},
    }
    if rng.random() < 0.2:
        row["droppedAttributesCount"] = 1
    return row


def elastic(rng: Random, n: int) -> Row:
    """An event of Elastic's common schema; some producers write its names with dots."""
    user = rng.choice(USERS)
    row: Row = {
        "@timestamp": _time(n),
        "event": {
            "action": rng.choice(("login", "logout", "exec")),
            "category": ["process"],
            "duration": rng.choice((1, 1.5, 9007199254740993)),
        },
        "source": {"ip": f"192.0.2.{rng.randrange(3)}", "geo": {"city_name": "Ulm"}},
    }
    row |= {"user.name": user} if rng.random() < 0.3 else {"user": {"name": user}}
    if rng.random() < 0.5:
        row["process"] = {"pid": rng.randrange(5), "parent": {"name": rng.choice(("sh", "init"))}}
    return row


FORMATS: dict[str, Callable[[Random, int], Row]] = {
    "cloudtrail": cloudtrail,
    "kubernetes": kubernetes,
    "opentelemetry": opentelemetry,
    "elastic": elastic,
}


def text_of(kind: str, rows: list[Row], rng: Random) -> str:
    """Return some rows as the producer of a format writes them."""
    if kind == "cloudtrail":
        return json.dumps({"Records": rows}, indent=rng.choice((None, 2))) + "\n"
    if kind == "opentelemetry":
        half = len(rows) // 2
        scopes = [
            {"scope": {"name": "app"}, "logRecords": part} for part in (rows[:half], rows[half:])
        ]
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "web"}}]}
        lines = [{"resourceLogs": [{"resource": resource, "scopeLogs": [each]}]} for each in scopes]
        return "".join(json.dumps(line) + "\n" for line in lines)
    return "".join(json.dumps(row) + "\n" for row in rows)


def log(kind: str, copy: int) -> str:
    """Return the text of a log; the same for each run."""
    rng = Random(f"{kind} {copy}")
    rows = [FORMATS[kind](rng, n * rng.randrange(1, 4)) for n in range(rng.randrange(*ROWS))]
    return text_of(kind, rows, rng)


def name_of(kind: str, copy: int) -> str:
    """Return the name of the file of a log."""
    return f"{kind}_{copy:02d}.{'json' if kind == 'cloudtrail' else 'ndjson'}"


def write() -> None:
    """Write all logs."""
    FOLDER.mkdir(exist_ok=True)
    for kind in FORMATS:
        for copy in range(COPIES):
            (FOLDER / name_of(kind, copy)).write_text(log(kind, copy))


if __name__ == "__main__":
    write()
