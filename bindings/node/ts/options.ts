/**
 * What the person who builds an agent says: Mounts, or a `paddock.toml`.
 *
 * Owns the public types of it and their translation for the core. What they mean, and whether they are right, the core says.
 */
import type { Runtime } from "langchain";
import type { BaseMessage } from "@langchain/core/messages";

import { check } from "./checks.js";
import type { NativeMount, NativeOptions, Store } from "./native.js";
import type { StorePort } from "./port.js";
import { isRecord, kindOf } from "./shapes.js";
import { toStore } from "./stores.js";

/** Immutable, exactly one per Workspace. */
export type AccessScope = "READ_ONLY" | "READ_WRITE" | "WRITE_ONLY";

/** One Workspace: a logical directory that the agent perceives, its Access Scope, and the Store behind it. */
export interface MountConfig {
  /** The logical path, for example `/project`. */
  prefix: string;
  scope: AccessScope;
  store: Store | StorePort;
  /** Names the agent never sees, in gitignore syntax. Absent: `.env`, `.env.*` and private keys; `[]`: none. */
  hide?: string[];
}

/** What a function for `mounts` is told: for whom the Workspaces are. */
export interface MountsRequest {
  state: { messages: BaseMessage[] } & Record<string, unknown>;
  runtime: Runtime;
}

/** The Workspaces of each moment. Called before every model call and again before every tool call; keeps nothing between them. */
export type MountsFunction = (request: MountsRequest) => MountConfig[] | Promise<MountConfig[]>;

/** Names of the tools: a preset, or names of your own by Paddock's (`{ read_file: "open_document" }`). */
export type ToolNames = "paddock" | "deepagents" | Record<string, string>;

/** What holds wherever the Workspaces come from. */
export interface CommonOptions {
  /** The agent's name, as in the audit and in `[agents.NAME]`. */
  agent?: string;
  toolNames?: ToolNames;
  /** How long one call may take, in milliseconds; 300,000 where nothing is said. A store that never answers ends here. */
  timeLimit?: number;
  /**
   * Told when a function for `mounts` failed, so that the agent had no access in that turn. The model never reads the error.
   * Absent: a warning of the process.
   */
  onError?: (error: unknown) => void;
}

/** Workspaces given in the program. */
export interface MountOptions extends CommonOptions {
  mounts: MountConfig[] | MountsFunction;
  /** Where relative paths start. Absent: at the only Workspace, or at `/` where there are several. */
  base?: string;
}

/** Workspaces of a `paddock.toml`, made by `fromConfig`. */
export interface ConfigOptions extends CommonOptions {
  /** The file. */
  config: string;
  /** The System Root, where it is not the usual one. */
  home?: string;
}

/** What `createWorkspacesMiddleware` takes. */
export type WorkspacesMiddlewareOptions = MountOptions | ConfigOptions;

/** The Workspaces of an agent as a `paddock.toml` says. A valid change of the file holds from the next call on. */
export function fromConfig(config: string, options: Omit<ConfigOptions, "config"> = {}): ConfigOptions {
  return { ...options, config };
}

/** Five minutes, as for a call over MCP. */
const TIME_LIMIT = 300_000;

/** The time limit that holds. */
export function timeLimitOf({ timeLimit = TIME_LIMIT }: CommonOptions): number {
  if (Number.isFinite(timeLimit) && timeLimit > 0) return Math.ceil(timeLimit);
  throw new RangeError(`timeLimit is a number of milliseconds above 0, and this is ${timeLimit}`);
}

/** Whether the Workspaces are those of a file. */
export function isConfig(options: WorkspacesMiddlewareOptions): options is ConfigOptions {
  return "config" in options && options.config !== undefined;
}

/** Throws where the options are none that `of` takes; those of a configuration are the same for every function. */
export function checkAll(of: string, options: WorkspacesMiddlewareOptions): void {
  check(isRecord(options) && isConfig(options) ? "fromConfig" : of, options);
}

/** The options as the core takes them. */
export function nativeOptions(options: WorkspacesMiddlewareOptions): NativeOptions {
  const { agent, toolNames } = options;
  return {
    ...(agent !== undefined && { agent }),
    ...("base" in options && options.base !== undefined && { base: options.base }),
    ...("home" in options && options.home !== undefined && { home: options.home }),
    ...("mounts" in options && typeof options.mounts === "function" && { changing: true }),
    ...(typeof toolNames === "string" && { preset: toolNames }),
    ...(isRecord(toolNames) && { toolNames }),
  };
}

/** The Mounts as the core takes them. Throws at the first that is not one. */
export function nativeMounts(mounts: unknown): NativeMount[] {
  if (!Array.isArray(mounts)) throw new TypeError(`mounts is an array of Mounts, and this is ${kindOf(mounts)}`);
  return mounts.map((mount: unknown) => nativeMount(mount));
}

function nativeMount(mount: unknown): NativeMount {
  check("a Mount", mount);
  if (!isMountConfig(mount)) throw new TypeError("a Mount is an object with prefix, scope and store");
  const { prefix, scope, store, hide } = mount;
  return { prefix, scope, store: toStore(store), ...(hide !== undefined && { hide }) };
}

/** `scope` is any text here: which ones there are, the core knows. */
function isMountConfig(value: unknown): value is MountConfig {
  return isRecord(value) && typeof value["prefix"] === "string" && typeof value["scope"] === "string" && isRecord(value["store"]);
}
