/** Agents in one line, places to work in, and what came of it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import type { AnyAgentMiddleware } from "langchain";

import { createWorkspacesMiddleware } from "../../esm/index.js";
import type { MountConfig, MountsFunction, StorePort } from "../../esm/index.js";
import { ScriptedModel } from "./model.js";
import type { Asked } from "./model.js";

/** Node itself, and none of the runtimes that stand in for it. */
export const isNode = !("Bun" in globalThis) && !("Deno" in globalThis);

/** Everything that a file of tests makes on the disk; gone with its process. */
const PLACE = mkdtempSync(join(tmpdir(), "paddock-node-"));
process.on("exit", () => rmSync(PLACE, { recursive: true, force: true }));

// Nothing of a test may reach the System Root of whoever runs it.
process.env["PADDOCK_HOME"] ??= mkdtempSync(join(PLACE, "home-"));

/** A directory of its own, with these files. */
export function directory(files: Record<string, string> = {}): string {
  const made = mkdtempSync(join(PLACE, "d-"));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(made, path)), { recursive: true });
    writeFileSync(join(made, path), content);
  }
  return made;
}

/** The messages of tools, in order. */
export function toolMessages(messages: BaseMessage[]): ToolMessage[] {
  return messages.filter((message) => ToolMessage.isInstance(message));
}

/** The message at this place; a test that has none fails here. */
export function at<T>(list: readonly T[], position: number): T {
  const found = list.at(position);
  if (found === undefined) throw new Error(`nothing at ${position} of ${list.length}`);
  return found;
}

/** An agent that makes these calls one per turn and ends: what it was given and what it got. */
export async function play(middleware: readonly AnyAgentMiddleware[], calls: Asked[]): Promise<Played> {
  const model = new ScriptedModel();
  for (const call of calls) model.ask(call);
  model.say("done");
  const agent = createAgent({ model, middleware });
  const { messages } = await agent.invoke({ messages: [new HumanMessage("go")] }, { recursionLimit: 10 + 4 * calls.length });
  return { model, messages, answers: toolMessages(messages) };
}

/** What `play` gives. */
export interface Played {
  model: ScriptedModel;
  messages: BaseMessage[];
  answers: ToolMessage[];
}

/** `play` over these Mounts. */
export function playMounts(mounts: MountConfig[] | MountsFunction, calls: Asked[]): Promise<Played> {
  return play([createWorkspacesMiddleware({ mounts })], calls);
}

/** A small store of somebody else's: files in a `Map`, every call counted. */
export class MapStore implements StorePort {
  readonly files: Map<string, string>;
  calls = 0;

  constructor(files: Record<string, string> = {}) {
    this.files = new Map(Object.entries(files).map(([path, content]) => [`/${path}`, content]));
  }

  async read(path: string): Promise<string> {
    await this.#called();
    const content = this.files.get(path);
    if (content === undefined) throw new Error("ENOENT: no such file");
    return content;
  }

  async write(path: string, content: string): Promise<void> {
    await this.#called();
    this.files.set(path, content);
  }

  async edit(path: string, oldStr: string, newStr: string): Promise<number> {
    const content = await this.read(path);
    await this.write(path, content.replace(oldStr, () => newStr));
    return 1;
  }

  async list(path: string): Promise<string[]> {
    await this.#called();
    const prefix = path === "/" ? "/" : `${path}/`;
    const below = [...this.files.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    return [...new Set(below.map((rest) => (rest.includes("/") ? `${rest.split("/")[0]}/` : rest)))];
  }

  /** A turn of the event loop, so that calls that run at once really interleave. */
  async #called(): Promise<void> {
    this.calls += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
