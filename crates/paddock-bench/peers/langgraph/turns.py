"""LangGraph doing turns of four messages, its state kept by SqliteSaver.

Asked on standard input, one line each: "turn HISTORY" runs one turn in a thread that holds so many messages and answers
with two numbers, the nanoseconds it took and the bytes that were written. "--version" says what it is made of. Preparing
a thread is not counted. Everything is as its users have it: MessagesState, two nodes, the default durability.
"""

import sqlite3
import sys
import time
import uuid
from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

# As in src/conversation.rs: what every message says.
TEXT = "The quick brown fox jumps over the lazy dog, and then it rests for a while. " * 3
# Threads as short as this are made anew for each turn, so that a turn does not change what the next one meets.
SHORT = 100


def think(state):
    call = {"name": "read_file", "args": {"path": "src/App.tsx"}, "id": str(uuid.uuid4())}
    return {"messages": [AIMessage(content=TEXT, tool_calls=[call])]}


def act(state):
    call = state["messages"][-1].tool_calls[0]["id"]
    return {"messages": [ToolMessage(content=TEXT, tool_call_id=call), AIMessage(content=TEXT)]}


def built(connection):
    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("act", act)
    graph.add_edge(START, "think")
    graph.add_edge("think", "act")
    graph.add_edge("act", END)
    return graph.compile(checkpointer=SqliteSaver(connection))


def written():
    with open("/proc/self/io", encoding="ascii") as told:
        return next(int(line.split()[1]) for line in told if line.startswith("wchar:"))


class Threads:
    def __init__(self, graph):
        self.graph = graph
        self.lengths = {}

    def of(self, history):
        if history <= SHORT or history not in self.lengths:
            thread = {"configurable": {"thread_id": f"{history}-{uuid.uuid4()}"}}
            self.graph.update_state(thread, {"messages": [HumanMessage(content=TEXT) for _ in range(history)]}, as_node="act")
            self.lengths[history] = [thread, history]
        return self.lengths[history]

    def turn(self, history):
        entry = self.of(history)
        before, start = written(), time.perf_counter_ns()
        state = self.graph.invoke({"messages": [HumanMessage(content=TEXT)]}, entry[0])
        took, bytes_written = time.perf_counter_ns() - start, written() - before
        entry[1] += 4
        if len(state["messages"]) != entry[1]:
            raise SystemExit(f"{len(state['messages'])} messages instead of {entry[1]}")
        return took, bytes_written


def main():
    if sys.argv[1] == "--version":
        print(version("langgraph"))
        return
    connection = sqlite3.connect(sys.argv[1], check_same_thread=False)
    threads = Threads(built(connection))
    for line in sys.stdin:
        _, history = line.split()
        print(*threads.turn(int(history)), flush=True)


if __name__ == "__main__":
    main()
