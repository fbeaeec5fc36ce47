/**
 * Workspaces without an agent: the same tools, called by a program.
 *
 * Every call takes the way that a model's call takes; there is no other one.
 */
import { call } from "./calls.js";
import type { Answer } from "./calls.js";
import { AccessDeniedError, PathTraversalError } from "./errors.js";
import type { Core } from "./native.js";
import { checkAll, isConfig, nativeMounts, timeLimitOf } from "./options.js";
import type { ConfigOptions, MountOptions } from "./options.js";
import { parseObject } from "./shapes.js";
import { filesOf } from "./source.js";

/** A tool as a model would be offered it. */
export interface ToolDescription {
  name: string;
  title: string;
  description: string;
  /** JSON Schema of the arguments. */
  schema: Record<string, unknown>;
  readOnly: boolean;
  destructive: boolean;
}

/** What `openWorkspaces` takes: as the middleware does, but Mounts are given, not computed. */
export type OpenOptions = (MountOptions & { mounts: MountOptions["mounts"] & readonly unknown[] }) | ConfigOptions;

/** Opened Workspaces. */
export class Workspaces {
  readonly #core: Core;
  readonly #timeLimit: number;

  /** @internal Use `openWorkspaces`. */
  constructor(core: Core, timeLimit: number) {
    this.#core = core;
    this.#timeLimit = timeLimit;
  }

  /** The tools that the Access Scopes allow now. */
  async tools(): Promise<ToolDescription[]> {
    const { tools } = await this.#core.turn();
    return tools.map(({ name, title, description, schema, readOnly, destructive }) => {
      return { name, title, description, schema: parseObject(schema), readOnly, destructive };
    });
  }

  /** The Filesystem Map of now. */
  async map(): Promise<string> {
    return (await this.#core.turn()).map;
  }

  /** Calls a tool. What goes wrong is in the answer. */
  call(name: string, args: Record<string, unknown> = {}, { signal }: { signal?: AbortSignal } = {}): Promise<Answer> {
    return call(this.#core, name, args, { timeLimit: this.#timeLimit, signal });
  }

  /** Calls a tool and gives its text. What goes wrong is thrown: a denial as `AccessDeniedError` or `PathTraversalError`. */
  async run(name: string, args: Record<string, unknown> = {}, options: { signal?: AbortSignal } = {}): Promise<string> {
    const answer = await this.call(name, args, options);
    if (answer.verdict === "done") return answer.text;
    throw errorOf(answer);
  }
}

/** Opens Workspaces for a program. Throws where the options are wrong. */
export function openWorkspaces(options: OpenOptions): Workspaces {
  checkAll("openWorkspaces", options);
  const making = filesOf(options);
  const core = isConfig(options) ? making.ofConfig(options.config) : making.ofMounts(nativeMounts(options.mounts));
  return new Workspaces(core, timeLimitOf(options));
}

function errorOf({ verdict, reason = verdict, text }: Answer): Error {
  if (reason === "path") return new PathTraversalError(text, reason);
  return verdict === "denied" ? new AccessDeniedError(text, reason) : new Error(text);
}
