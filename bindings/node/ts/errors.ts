/**
 * Errors for programs that call tools without an agent (`openWorkspaces`).
 *
 * In an agent nothing of this is thrown: there each of them is a message that the model reads.
 */

/** The call is denied: no Workspace, no Access Scope for it, or a name that is not to be touched. Nothing was changed. */
export class AccessDeniedError extends Error {
  override readonly name: string = "AccessDeniedError";
  /** Why, in a word or two of the core: `scope`, `no Workspace`, `guarded`, `path`. */
  readonly reason: string;

  constructor(message: string, reason: string) {
    super(message);
    this.reason = reason;
  }
}

/** The path leads out of `/`, or holds what no path may hold. */
export class PathTraversalError extends AccessDeniedError {
  override readonly name: string = "PathTraversalError";
}
