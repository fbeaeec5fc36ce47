/**
 * The two hooks of an agent, over whatever Workspaces a request has.
 *
 * `wrapModelCall` adds the tools and the Filesystem Map of this turn to this one request: the state gets neither, so nothing
 * piles up in a conversation or a checkpoint. `wrapToolCall` runs our tools and passes others on. A tool that was not offered is
 * ours all the same: hiding a tool does not block it, so the call is judged like any other. It never makes a `Command`.
 */
import type { SystemMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";

import { offered, runnable } from "./agent-tools.js";
import type { Source } from "./source.js";
import { isRecord } from "./shapes.js";

/** The middleware under this name. */
export function middlewareOver(name: string, source: Source, timeLimit: number) {
  return createMiddleware({
    name,
    wrapModelCall: async (request, handler) => {
      refuseDoubles(name, source, request.tools);
      const core = await source.now(request);
      const { map, tools } = await core.turn();
      return handler({
        ...request,
        tools: [...request.tools, ...tools.map((tool) => offered(core, tool, timeLimit))],
        systemMessage: withMap(request.systemMessage, map),
      });
    },
    wrapToolCall: async (request, handler) => {
      const called = request.toolCall.name;
      if (!source.knows(called)) return handler(request);
      const core = await source.now(request);
      return handler({ ...request, tool: runnable(core, called, timeLimit) });
    },
  });
}

function withMap(system: SystemMessage, map: string): SystemMessage {
  if (map === "") return system;
  return system.concat(system.text === "" ? map : `\n\n${map}`);
}

/** Two tools of one name: one of them would silently be the other. That is for the person to settle, before anything runs. */
function refuseDoubles(name: string, source: Source, tools: readonly unknown[]): void {
  for (const tool of tools) {
    const theirs: unknown = isRecord(tool) ? tool["name"] : undefined;
    if (typeof theirs !== "string" || !source.knows(theirs)) continue;
    throw new Error(
      `the agent has a tool "${theirs}" that is also a tool of the middleware ${name}; ` +
        `hint: name one of them differently, ours with toolNames: { ${theirs}: "…" }`,
    );
  }
}
