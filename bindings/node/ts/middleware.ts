/** `createWorkspacesMiddleware`: file tools over bounded Workspaces. It never runs commands; see `commands.ts`. */
import { middlewareOver } from "./hooks.js";
import { checkAll, timeLimitOf } from "./options.js";
import type { WorkspacesMiddlewareOptions } from "./options.js";
import { filesOf, sourceOf } from "./source.js";

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
 * Throws where the options are wrong: one that there is none of, a READ_ONLY Mount of no directory, a prefix given twice.
 */
export function createWorkspacesMiddleware(options: WorkspacesMiddlewareOptions) {
  checkAll("createWorkspacesMiddleware", options);
  return middlewareOver("PaddockWorkspaces", sourceOf(options, filesOf(options)), timeLimitOf(options));
}
