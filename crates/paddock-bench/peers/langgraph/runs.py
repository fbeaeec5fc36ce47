"""LangGraph doing runs of an agent: eight nodes, a plan of four steps, its state kept by SqliteSaver after each node.

Asked on standard input, one line each: "turn HISTORY" runs one turn in a thread that holds so many messages and answers with
four numbers: the nanoseconds of one node with its checkpoint, those of the whole turn, the bytes that were written, and how many nodes
there were. Preparing a thread is not counted. The durability is "sync": a checkpoint is kept before the next node begins.
"""

import os
import sqlite3
import sys
import tempfile
import time
import uuid

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from turns import SHORT, TEXT, written

# As in src/run_ground.rs: how many steps a plan has.
STEPS = 4


class State(MessagesState):
    plan: list
    current: int | None
    proposed: dict | None
    result: dict | None
    nodes: int


class Nodes:
    """The nodes; each says when it began."""

    def __init__(self, path):
        self.path = path
        self.began = []

    def begin(self, state):
        self.began.append(time.perf_counter_ns())
        return {"nodes": state.get("nodes", 0) + 1}

    def gatekeeper(self, state):
        cleared = {"plan": [], "current": None, "proposed": None, "result": None}
        return {**self.begin(state), **cleared, "nodes": 1}

    def planner(self, state):
        steps = [{"id": number, "description": "Read the facts", "status": "pending"} for number in range(STEPS)]
        said = AIMessage(content="- [ ] Read the facts\n" * STEPS)
        return {**self.begin(state), "plan": steps, "messages": [said]}

    def supervisor(self, state):
        plan = [dict(step) for step in state["plan"]]
        current = next((step["id"] for step in plan if step["status"] != "done"), None)
        if current is not None:
            plan[current]["status"] = "running"
        return {**self.begin(state), "plan": plan, "current": current}

    def executor(self, state):
        begun = self.begin(state)
        if state["result"] is not None:
            return {**begun, "proposed": None, "messages": [AIMessage(content="I know them.")]}
        call = {"name": "read_file", "args": {"path": self.path}, "id": str(uuid.uuid4())}
        return {**begun, "proposed": call, "messages": [AIMessage(content="", tool_calls=[call])]}

    def check(self, state):
        return {**self.begin(state), "proposed": {**state["proposed"], "checked": True}}

    def tools(self, state):
        begun, call = self.begin(state), state["proposed"]
        with open(call["args"]["path"], encoding="utf-8") as file:
            text = file.read()
        return {**begun, "result": {"output": text}, "messages": [ToolMessage(content=text, tool_call_id=call["id"])]}

    def interpreter(self, state):
        begun = self.begin(state)
        if state["proposed"] is not None:
            return {**begun, "proposed": None}
        plan = [dict(step) for step in state["plan"]]
        plan[state["current"]]["status"] = "done"
        return {**begun, "plan": plan, "result": None}

    def finalizer(self, state):
        return {**self.begin(state), "messages": [AIMessage(content="I know them.")]}


def built(connection, nodes):
    graph = StateGraph(State)
    names = ["gatekeeper", "planner", "supervisor", "executor", "check", "tools", "interpreter", "finalizer"]
    for name in names:
        graph.add_node(name, getattr(nodes, name))
    for before, after in [
        (START, "gatekeeper"),
        ("gatekeeper", "planner"),
        ("planner", "supervisor"),
        ("check", "tools"),
        ("tools", "interpreter"),
        ("interpreter", "supervisor"),
        ("finalizer", END),
    ]:
        graph.add_edge(before, after)
    works = {True: "executor", False: "finalizer"}
    graph.add_conditional_edges("supervisor", lambda state: state["current"] is not None, works)
    calls = {True: "check", False: "interpreter"}
    graph.add_conditional_edges("executor", lambda state: state["proposed"] is not None, calls)
    return graph.compile(checkpointer=SqliteSaver(connection))


class Threads:
    def __init__(self, graph):
        self.graph = graph
        self.threads = {}

    def of(self, history):
        if history <= SHORT or history not in self.threads:
            thread = {"configurable": {"thread_id": f"{history}-{uuid.uuid4()}"}, "recursion_limit": 1000}
            messages = [HumanMessage(content=TEXT) for _ in range(history)]
            self.graph.update_state(thread, {"messages": messages}, as_node="finalizer")
            self.threads[history] = thread
        return self.threads[history]

    def turn(self, history, nodes):
        thread = self.of(history)
        nodes.began.clear()
        asked = {"messages": [HumanMessage(content="Read the facts, again and again.")]}
        before, start = written(), time.perf_counter_ns()
        state = self.graph.invoke(asked, thread, durability="sync")
        whole, bytes_written = time.perf_counter_ns() - start, written() - before
        if any(step["status"] != "done" for step in state["plan"]) or state["nodes"] != len(nodes.began):
            raise SystemExit(f"the run did not come to its end: {state['plan']}")
        began = nodes.began
        return (began[-1] - began[0]) // (len(began) - 1), whole, bytes_written, len(began)


def main():
    connection = sqlite3.connect(sys.argv[1], check_same_thread=False)
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "facts.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("the answer is 42\n")
        nodes = Nodes(path)
        threads = Threads(built(connection, nodes))
        for line in sys.stdin:
            _, history = line.split()
            print(*threads.turn(int(history), nodes), flush=True)


if __name__ == "__main__":
    main()
