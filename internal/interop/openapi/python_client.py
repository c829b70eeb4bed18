"""Proves that a client which knows only the document calls the reference server, and that requests and replies are as described.

python3 python_client.py FACTS

It needs Python's standard library, and jsonschema (Debian: python3-jsonschema), which compares with the document.
"""

import hashlib
import hmac
import json
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import jsonschema

METHODS = ("get", "post", "put", "patch", "delete")


class Signature:
    """Signs requests by section 5.3 of INTERFACE.md."""

    scheme = "signature_Client_Key"

    def __init__(self, key, secret, prefix="Service-"):
        self.key, self.secret, self.prefix, self.last = key, secret, prefix, 0

    def headers(self, method, command):
        # Never the same millisecond twice: a signature may be used once.
        self.last = max(self.last + 1, int(time.time() * 1000))
        message = f"{command};{method};{self.last}"
        mac = hmac.new((self.key + self.secret).encode(), message.encode(), hashlib.sha256)
        return {
            self.prefix + "Client-Key": self.key,
            self.prefix + "Client-Signature": mac.hexdigest(),
            self.prefix + "Client-Timestamp": str(self.last),
            self.prefix + "Client-Nonce": secrets.token_hex(8),
        }


class Token:
    scheme = "bearer"

    def __init__(self, token):
        self.token = token

    def headers(self, method, command):
        return {"Authorization": "Bearer " + self.token}


class Client:
    """Calls operations by their operationId. A request or reply that the document does not describe is an error."""

    def __init__(self, document, credential, **variables):
        self.document, self.credential = document, credential
        server = document["servers"][0]
        values = {name: v["default"] for name, v in server.get("variables", {}).items()} | variables
        self.mount = server["url"].format(**values)
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if method in METHODS
        }

    def valid(self, value, schema):
        resolver = jsonschema.RefResolver.from_schema(self.document)
        jsonschema.Draft202012Validator(schema, resolver=resolver).validate(value)

    def resolved(self, schema):
        while "$ref" in schema:
            for at in ["", *schema["$ref"].removeprefix("#/").split("/")]:
                schema = schema[at] if at else self.document
        return schema

    def argument(self, parameter, value):
        self.valid(value, parameter["schema"])
        if "contentSchema" in parameter["schema"]:
            self.valid(json.loads(value), parameter["schema"]["contentSchema"])

    def call(self, operation_id, body=None, **arguments):
        """Returns the status and the decoded reply."""
        method, path, operation = self.operations[operation_id]
        known = {p["name"]: p for p in operation.get("parameters", [])}
        query = {}
        for name, value in arguments.items():
            self.argument(known[name], value)
            if known[name]["in"] == "path":
                path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
            else:
                query[name] = value
        request = urllib.request.Request(self.mount + path, method=method, headers=self.credential.headers(method, path))
        if query:
            request.full_url += "?" + urllib.parse.urlencode(query, doseq=True)
        if body is not None:
            self.valid(body, operation["requestBody"]["content"]["application/json"]["schema"])
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            reply = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as refusal:
            reply = refusal
        described = operation["responses"].get(str(reply.status), operation["responses"]["default"])
        value = json.load(reply)
        self.valid(value, self.resolved(described)["content"]["application/json"]["schema"])
        return reply.status, value

    def walk(self, operation_id, where, **arguments):
        """Yields all items of a list: section 4.2 of INTERFACE.md."""
        last = []
        while True:
            _, page = self.call(operation_id, where=json.dumps({"$and": [where, *last]}), **arguments)
            yield from page["data"]
            if not page["hasMore"]:
                return
            last = [{"_id": {"$gt": page["data"][-1]["_id"]}}]


def refused(by, call):
    try:
        call()
    except by:
        return
    raise AssertionError("is accepted")


def check_client(client):
    _, page = client.call("get_c_messages", limit=3, sort="c_likes", **{"paths[]": ["c_text"]})
    assert len(page["data"]) == 3 and page["hasMore"], page

    arguments = {"limit": 1000, "paths[]": ["c_likes", "c_sent", "c_meta.lang"]}
    every = list(client.walk("get_c_messages", {}, **arguments))
    assert len({item["_id"] for item in every}) == 2500, len(every)

    kept = [item["_id"] for item in every if 10 <= item.get("c_likes", 0) < 20]
    found = client.walk("get_c_messages", {"c_likes": {"$gte": 10, "$lt": 20}}, **arguments)
    assert kept and [item["_id"] for item in found] == kept

    body = {"c_text": "by a client without types", "c_sent": "2026-01-02T03:04:05.000Z", "c_meta": {"lang": None}}
    status, made = client.call("post_c_messages", body)
    assert status == 200 and made["c_text"] == body["c_text"], made
    assert client.call("get_c_messages_by_id", id=made["_id"]) == (200, made)
    _, text = client.call("get_c_messages_by_id_by_path", id=made["_id"], path="c_text")
    assert text["data"] == body["c_text"], text
    assert client.call("delete_c_messages_by_id", id=made["_id"])[1]["data"] is True
    status, fault = client.call("get_c_messages_by_id", id=made["_id"])
    assert status == 404 and fault["object"] == "fault", fault

    # What the document does not describe is found before a request is sent.
    wrong = jsonschema.ValidationError
    refused(wrong, lambda: client.call("post_c_messages", {"c_txt": "misspelt"}))
    refused(wrong, lambda: client.call("post_c_messages", {"c_sent": "2026-01-02T03:04:05Z"}))
    refused(wrong, lambda: client.call("get_c_messages", where='{"c_like":1}'))
    refused(wrong, lambda: client.call("get_c_messages", skip=10_001))
    refused(KeyError, lambda: client.call("get_c_messages", limits=1))
    refused(wrong, lambda: client.valid({"object": "c_message"}, {"$ref": "#/components/schemas/c_message"}))


def check_reads(client):
    """Compares the reply of each GET that takes the credential and has no parameter in its path."""
    count = 0
    for operation_id, (method, path, operation) in client.operations.items():
        reply = operation["responses"]["200"]["content"]
        accepted = not operation["security"] or any(client.credential.scheme in one for one in operation["security"])
        if method == "GET" and "{" not in path and accepted and "application/json" in reply:
            status, value = client.call(operation_id)
            assert status == 200, f"{path}: {status} {value}"
            count += 1
    assert count > 10, count


def main(facts_file):
    with open(facts_file, encoding="utf-8") as file:
        facts = json.load(file)
    with urllib.request.urlopen(facts["base_url"] + "/openapi.json") as reply:
        document = json.load(reply)
    credentials = {
        "signature": Signature(facts["client_key"], facts["client_secret"]),
        "token": Token(facts["admin_token"]),
    }
    for name, credential in credentials.items():
        client = Client(document, credential, org=facts["org"])
        check_client(client)
        check_reads(client)
        print(f"ok    a client by hand in Python, by {name}")
    print(f"{len(credentials)} passed, 0 failed")


main(sys.argv[1])
