/** `createWorkspacesMiddleware`: file tools over bounded Workspaces. It never runs commands; see `commands.ts`. */
import { middlewareOver } from "./hooks.js";
import { NativeWorkspaces } from "./native.js";
import { nativeOptions, timeLimitOf } from "./options.js";
import type { WorkspacesMiddlewareOptions } from "./options.js";
import { sourceOf } from "./source.js";
import type { Making } from "./source.js";

/** How the core with the file tools is made under these options. */
export function filesOf(options: WorkspacesMiddlewareOptions): Making {
  const native = nativeOptions(options);
  return {
    ofMounts: (mounts) => NativeWorkspaces.ofMounts(mounts, native),
    ofConfig: (path) => NativeWorkspaces.fromConfig(path, native),
  };
}

/**
 * Gives an agent bounded Workspaces.
 *
 * ```ts
 * const agent = createAgent({
 *   model,
 *   middleware: [
 *     createWorkspacesMiddleware({
 *       mounts: [{ prefix: "/project", scope: "READ_ONLY", store: physicalStore("./src") }],
 *     }),
 *   ],
 * });
 * ```
 *
 * Throws where the options are wrong: a READ_ONLY Mount of no directory, a prefix given twice, an unknown Access Scope.
 */
export function createWorkspacesMiddleware(options: WorkspacesMiddlewareOptions) {
  return middlewareOver("PaddockWorkspaces", sourceOf(options, filesOf(options)), timeLimitOf(options));
}
