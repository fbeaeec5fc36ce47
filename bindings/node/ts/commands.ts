/**
 * `createCommandsMiddleware`: the tool `execute_command`, and nothing else.
 *
 * An export of its own, since the middleware for Workspaces must not compute: who wants commands says so. They run in a kernel
 * sandbox under the same Workspaces.
 */
import { middlewareOver } from "./hooks.js";
import { NativeWorkspaces } from "./native.js";
import { checkAll, nativeOptions, timeLimitOf } from "./options.js";
import type { ConfigOptions, MountOptions } from "./options.js";
import { sourceOf } from "./source.js";

/** The keys of `[commands]` in `paddock.toml`; see docs/commands.md. */
export interface Commands {
  deny?: string[];
  changes?: "staged" | "direct";
  network?: boolean | string[];
  tools?: string[];
  env?: Record<string, string>;
  time_limit?: string;
  memory_limit?: string;
  output_limit?: string;
  cpu_limit?: string;
  process_limit?: number;
  file_limit?: string;
  tmp_limit?: string;
  open_limit?: number;
}

/** What `createCommandsMiddleware` takes: the same Workspaces, and how commands run in them. */
export type CommandsMiddlewareOptions = (MountOptions & { commands?: Commands }) | ConfigOptions;

/** Gives an agent `execute_command` in its Workspaces. */
export function createCommandsMiddleware(options: CommandsMiddlewareOptions) {
  checkAll("createCommandsMiddleware", options);
  const native = nativeOptions(options);
  const commands = JSON.stringify(("commands" in options ? options.commands : undefined) ?? {});
  const source = sourceOf(options, {
    ofMounts: (mounts) => NativeWorkspaces.commandsOfMounts(mounts, native, commands),
    ofConfig: (path) => NativeWorkspaces.commandsFromConfig(path, native),
  });
  return middlewareOver("PaddockCommands", source, timeLimitOf(options));
}
