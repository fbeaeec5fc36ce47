"""langchain-mcp-adapters against a Paddock server over streamable HTTP, with a token.

Started by `cargo xtask test` on a fresh sample project, with the token in `PADDOCK_TEST_TOKEN`:

    langchain_client.py CASES URL

Each call is a session of its own, as this library has it. Prints one line per case, `ok NAME` or `FAILED NAME: why`, which is what
xtask counts, and exits with 1 when one failed.
"""

import asyncio
import json
import os
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient

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


async def said_by(tool, arguments):
    """What a tool answers, and whether as an error: asked as a model asks, so that the answer is what a model reads."""
    asked = {"type": "tool_call", "id": "1", "name": tool.name, "args": arguments}
    message = await tool.ainvoke(asked)
    return message.text if isinstance(message.text, str) else message.text(), message.status == "error"


def complaints_about(case, text, is_error):
    complaints = [f"{word!r} is missing from {text!r}" for word in case["says"] if word not in text]
    complaints += [f"{word!r} came back" for word in case.get("never_says", []) if word in text]
    if is_error != case["error"]:
        complaints.append(f"an error: {is_error}, the answer was {text!r}")
    return complaints


async def play(cases, url, report):
    headers = {"Authorization": f"Bearer {os.environ['PADDOCK_TEST_TOKEN']}"}
    connection = {"transport": "streamable_http", "url": url, "headers": headers}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"paddock": connection}).get_tools()}
    names = sorted(tools)
    report.case("exactly the expected tools", [] if names == cases["tools"] else [f"got {names}"])
    for case in cases["calls"]:
        text, is_error = await said_by(tools[case["tool"]], case["arguments"])
        report.case(case["name"], complaints_about(case, text, is_error))


async def refused(url, report):
    """With another token nothing is offered."""
    headers = {"Authorization": "Bearer another"}
    connection = {"transport": "streamable_http", "url": url, "headers": headers}
    try:
        tools = await MultiServerMCPClient({"paddock": connection}).get_tools()
        report.case("another token is refused", [f"got {len(tools)} tools"])
    except BaseException as error:
        seen = "401" in flat(error)
        report.case("another token is refused", [] if seen else [flat(error)])


def flat(error):
    inner = getattr(error, "exceptions", ())
    return f"{type(error).__name__}: {error} " + " ".join(flat(one) for one in inner)


def main(arguments):
    path, url = arguments
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    report = Report()
    try:
        asyncio.run(asyncio.wait_for(play(cases, url, report), 4 * HANG_SECONDS))
        asyncio.run(asyncio.wait_for(refused(url, report), HANG_SECONDS))
    except BaseException as error:  # whatever ended the conversation is a failed case, told like the others
        report.case("the conversation goes on to its end", [flat(error)])
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
