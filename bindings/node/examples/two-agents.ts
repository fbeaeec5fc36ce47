/**
 * Two agents, one project (the isolation pattern): a planner reads the code and owns private notes; a coder sees the same code
 * through a copy-on-write layer of its own, so that it can try things without changing a single file of the project.
 *
 * Run it with `npm run example`. The models are scripted, so it needs no network and no key: put a real one in their place.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { createWorkspacesMiddleware, overlayStore, physicalStore, virtualStore } from "@paddock/langchain";

// A project on the host's disk. Neither agent can change it: READ_ONLY for the planner, a lower layer for the coder.
const project = mkdtempSync(join(tmpdir(), "two-agents-"));
mkdirSync(join(project, "src"));
writeFileSync(join(project, "src/greet.ts"), 'export const greet = () => "helo";\n');

// The coder: the code to read and to change, but what it changes stays in a Virtual Store above it.
const draft = overlayStore(physicalStore(project), virtualStore({ url: "memory", namespace: ["draft", "coder"] }));
const coderModel = fakeModel()
  .respondWithTools([{ name: "edit_file", args: { path: "/code/src/greet.ts", old_string: "helo", new_string: "hello" } }])
  .respondWithTools([{ name: "write_file", args: { path: "/notes/stolen.md", content: "mine now" } }])
  .respondWithTools([{ name: "read_file", args: { path: "/code/src/greet.ts" } }])
  .respond(new AIMessage("I corrected the greeting in my draft."));
const coder = createAgent({
  model: coderModel,
  middleware: [createWorkspacesMiddleware({ agent: "coder", mounts: [{ prefix: "/code", scope: "READ_WRITE", store: draft }] })],
});

// The planner: the code to read only, notes of its own, and the coder as a tool. Workspaces are never inherited.
const askCoder = tool(
  async ({ task }: { task: string }) => {
    const { messages } = await coder.invoke({ messages: [new HumanMessage(task)] });
    report("coder", messages);
    return messages.at(-1)?.text ?? "";
  },
  {
    name: "ask_coder",
    description: "Gives a task to the coder.",
    schema: { type: "object", properties: { task: { type: "string" } }, required: ["task"] },
  },
);
const plannerModel = fakeModel()
  .respondWithTools([{ name: "search_files", args: { path: "/code", pattern: "helo" } }])
  .respondWithTools([{ name: "write_file", args: { path: "/notes/plan.md", content: "1. correct the greeting\n" } }])
  .respondWithTools([{ name: "ask_coder", args: { task: "Correct the spelling in src/greet.ts." } }])
  .respondWithTools([{ name: "write_file", args: { path: "/code/src/greet.ts", content: "" } }])
  .respond(new AIMessage("The coder has a draft; the project is as it was."));
const planner = createAgent({
  model: plannerModel,
  tools: [askCoder],
  middleware: [
    createWorkspacesMiddleware({
      agent: "planner",
      mounts: [
        { prefix: "/code", scope: "READ_ONLY", store: physicalStore(project) },
        { prefix: "/notes", scope: "READ_WRITE", store: virtualStore({ url: "memory", namespace: ["notes", "planner"] }) },
      ],
    }),
  ],
});

const { messages } = await planner.invoke({ messages: [new HumanMessage("Is the greeting right?")] });
report("planner", messages);
console.log(`on disk: ${readFileSync(join(project, "src/greet.ts"), "utf8").trim()}`);

/** One line for each call that an agent made. */
function report(agent: string, made: typeof messages): void {
  for (const message of made) {
    if (ToolMessage.isInstance(message)) console.log(`${agent}: ${message.name} (${message.status}) ${message.text.split("\n")[0]}`);
  }
}
