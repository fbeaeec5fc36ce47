/**
 * The core's tools as LangChain's.
 *
 * Owns two forms of each: the one that a model is offered, with the JSON Schema of the core, and the one that runs. The
 * latter checks nothing itself: arguments are the core's to judge, and its sentence about a wrong one is what the model reads.
 */
import { ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";

import { call } from "./calls.js";
import type { Answer } from "./calls.js";
import type { Core, NativeTool } from "./native.js";
import { parseObject } from "./shapes.js";

/** A tool as the model is offered it. */
export function offered(core: Core, { name, description, schema }: NativeTool, timeLimit: number): DynamicStructuredTool {
  return tool(core, name, description, parseObject(schema), timeLimit);
}

/** A tool as it is run: under the Workspaces of this very call, whether it is offered or not. */
export function runnable(core: Core, name: string, timeLimit: number): DynamicStructuredTool {
  return tool(core, name, "a tool of the Workspaces", {}, timeLimit);
}

function tool(
  core: Core,
  name: string,
  description: string,
  schema: Record<string, unknown>,
  timeLimit: number,
): DynamicStructuredTool {
  return new DynamicStructuredTool({
    name,
    description,
    schema,
    func: async (args: unknown, _run, config) => {
      const id = callId(config);
      try {
        return message(name, id, await call(core, name, args, { timeLimit, signal: config?.signal }));
      } catch (error) {
        // Only what is no call at all comes here (arguments that JSON cannot hold): the run goes on all the same.
        return refusal(name, id, error);
      }
    },
  });
}

function callId(config: object | undefined): string {
  const made: unknown = config === undefined ? undefined : Reflect.get(config, "toolCall");
  const id: unknown = typeof made === "object" && made !== null ? Reflect.get(made, "id") : undefined;
  return typeof id === "string" ? id : "";
}

/** The answer as the message that goes into the conversation: the text once, facts beside it as the artifact. */
function message(name: string, tool_call_id: string, answer: Answer): ToolMessage {
  const { verdict, facts, text, pieces } = answer;
  const rest = {
    name,
    tool_call_id,
    status: status(verdict),
    artifact: { ...facts, verdict },
  };
  const hasImage = pieces.some((piece) => piece.type === "image");
  return hasImage ? new ToolMessage({ ...rest, contentBlocks: pieces }) : new ToolMessage({ ...rest, content: text });
}

/** A call that waits for a person has not been made: nobody is to take it for done. */
function status(verdict: string): "success" | "error" {
  return verdict === "done" ? "success" : "error";
}

function refusal(name: string, tool_call_id: string, error: unknown): ToolMessage {
  const reason = error instanceof Error ? error.message : "unknown";
  return new ToolMessage({ name, tool_call_id, status: "error", content: `❌ ERROR: The call could not be made: ${reason}` });
}
