"""The Python MCP client against a Paddock server over stdio or streamable HTTP, in both protocol eras.

Started by `cargo xtask test`, once per era and way, on a fresh sample project:

    mcp_client.py ERA CASES -- COMMAND [ARGS…]
    mcp_client.py ERA CASES URL                     with the token in PADDOCK_TEST_TOKEN

Prints one line per case, `ok NAME` or `FAILED NAME: why`, which is what xtask counts, and exits with 1 when one
failed. It must never talk to the server in any way but through the client library: the library is the point.
"""

import asyncio
import contextlib
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, Implementation

MODERN = "2026-07-28"
# "auto" asks `server/discover` first; that it did not fall back to `initialize` is a case of its own.
MODES = {"legacy": "legacy", "modern": "auto"}
HANG_SECONDS = 60


class Report:
    """Counts the cases and prints each as it is known."""

    def __init__(self):
        self.failed = 0

    def case(self, name, complaints):
        if complaints:
            self.failed += 1
            print(f"FAILED {name}: {'; '.join(complaints)}", flush=True)
        else:
            print(f"ok {name}", flush=True)


def version_complaints(era, version):
    if era == "modern" and version != MODERN:
        return [f"negotiated {version}, not {MODERN}"]
    if era == "legacy" and version >= MODERN:
        return [f"negotiated {version} where only the handshake was offered"]
    return []


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def missing_from(text, words):
    return [f"{word!r} is missing from {text!r}" for word in words if word not in text]


def call_complaints(case, result):
    text = text_of(result)
    whole = result.model_dump_json()
    complaints = missing_from(text, case["says"])
    complaints += [f"{word!r} came back" for word in case.get("never_says", []) if word in whole]
    if bool(result.is_error) != case["error"]:
        complaints.append(f"is_error is {bool(result.is_error)}, the answer was {text!r}")
    return complaints


async def all_tool_names(client):
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            return sorted(names)


@contextlib.asynccontextmanager
async def reached(way):
    """The server, as the client library takes it."""
    if way[0] == "--":
        yield StdioServerParameters(command=way[1], args=way[2:])
        return
    headers = {"Authorization": f"Bearer {os.environ['PADDOCK_TEST_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=HANG_SECONDS) as http:
        yield streamable_http_client(way[0], http_client=http)


async def play(era, cases, way, report):
    async with reached(way) as server, Client(server, mode=MODES[era], read_timeout_seconds=HANG_SECONDS) as client:
        report.case("the protocol version is of this era", version_complaints(era, client.protocol_version))
        report.case(
            "the instructions hold the Filesystem Map",
            missing_from(client.instructions or "", cases["instructions"]),
        )
        names = await all_tool_names(client)
        report.case(
            "exactly the expected tools",
            [] if names == cases["tools"] else [f"got {names}"],
        )
        for case in cases["calls"]:
            result = await client.call_tool(case["tool"], case["arguments"])
            report.case(case["name"], call_complaints(case, result))


class Person:
    """Sits in front of the client, and answers every question in the same way."""

    def __init__(self, answer):
        self.answer = answer
        self.questions = []

    async def asked(self, context, params):
        self.questions.append(params.message)
        return ElicitResult(**self.answer)


def question_complaints(case, questions):
    if len(questions) != case["questions"]:
        return [f"the person was asked {len(questions)} times, not {case['questions']}: {questions}"]
    path = case["arguments"]["path"]
    return [f"{path!r} is not in the question {question!r}" for question in questions if path not in question]


async def play_asked(era, case, way, report):
    """One call that waits for a person, by a client of this name whose person answers so, if it can ask anybody."""
    person = Person(case["answer"])
    client_info = Implementation(name=case["client"], version="1")
    callback = person.asked if case["answer"] else None
    options = {"mode": MODES[era], "read_timeout_seconds": HANG_SECONDS}
    async with reached(way) as server:
        async with Client(server, client_info=client_info, elicitation_callback=callback, **options) as client:
            complaints = version_complaints(era, client.protocol_version)
            result = await client.call_tool(case["tool"], case["arguments"])
    report.case(case["name"], complaints + question_complaints(case, person.questions) + call_complaints(case, result))


async def play_all(era, cases, way, report):
    await play(era, cases, way, report)
    for case in cases["asked"]:
        await play_asked(era, case, way, report)


def main(arguments):
    era, path, *way = arguments
    assert way and era in MODES, __doc__
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    report = Report()
    try:
        asyncio.run(asyncio.wait_for(play_all(era, cases, way, report), 4 * HANG_SECONDS))
    except BaseException as error:  # whatever ended the conversation is a failed case, told like the others
        report.case("the conversation goes on to its end", [f"{type(error).__name__}: {error}"])
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
