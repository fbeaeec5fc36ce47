/** The fake chat model of `@langchain/core`, with a record of what each turn was given: tools and system message. */
import { AIMessage, SystemMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { FakeBuiltModel } from "@langchain/core/testing";

/** A tool call that the model makes. */
export interface Asked {
  name: string;
  args: Record<string, unknown>;
  id?: string;
}

/** A tool as the model was bound to it. */
export interface Bound {
  name: string;
  description: string;
  schema: unknown;
}

/** What the model got in one turn. */
export interface Turn {
  system: string;
  systemMessages: number;
  tools: Bound[];
  messages: BaseMessage[];
}

let made = 0;

/** Answers in the order given, and remembers each turn. */
export class ScriptedModel extends FakeBuiltModel {
  readonly turns: Turn[] = [];
  #bound: Bound[] = [];

  /** In its next turn the model calls these tools. */
  ask(...calls: Asked[]): this {
    const tool_calls = calls.map(({ name, args, id }) => {
      made += 1;
      return { name, args, id: id ?? `call-${made}`, type: "tool_call" } satisfies Record<string, unknown> & { type: "tool_call" };
    });
    return this.#next(() => new AIMessage({ content: "", tool_calls }));
  }

  /** In its next turn the model says this and ends. */
  say(text: string): this {
    return this.#next(() => new AIMessage(text));
  }

  /** The names of the tools in each turn. */
  names(): string[][] {
    return this.turns.map(({ tools }) => tools.map(({ name }) => name).sort());
  }

  override bindTools(tools: Parameters<FakeBuiltModel["bindTools"]>[0]): ReturnType<FakeBuiltModel["bindTools"]> {
    this.#bound = tools.map((tool) => {
      return { name: tool.name, description: tool.description ?? "", schema: tool.schema };
    });
    return super.bindTools(tools);
  }

  #next(answer: () => AIMessage): this {
    return this.respond((messages) => {
      const systems = messages.filter((message) => SystemMessage.isInstance(message));
      const system = systems.map((message) => message.text).join("\n");
      this.turns.push({ system, systemMessages: systems.length, tools: this.#bound, messages });
      this.#bound = [];
      return answer();
    });
  }
}
