/**
 * Where the Workspaces of one request come from.
 *
 * Owns the safe end of everything that can go wrong there: Mounts that are fixed are checked when the middleware is made; a
 * function for `mounts` that throws, rejects, hangs or gives nonsense means *no access*, with the tools and the map of an
 * empty configuration. The model is told that by the core's own map; the error is for the person, since it may hold what a
 * model must not read. Nothing is kept between two requests, so no run can meet another's Workspaces.
 */
import process from "node:process";

import { NativeWorkspaces } from "./native.js";
import type { Core, NativeMount } from "./native.js";
import { isConfig, nativeMounts, nativeOptions, timeLimitOf } from "./options.js";
import type { MountsRequest, WorkspacesMiddlewareOptions } from "./options.js";
import { isRecord } from "./shapes.js";

/** How a core is made: with the file tools, or with the one for commands. */
export interface Making {
  ofMounts(mounts: NativeMount[]): Core;
  ofConfig(path: string): Core;
}

/** How the core with the file tools is made under these options. */
export function filesOf(options: WorkspacesMiddlewareOptions): Making {
  const native = nativeOptions(options);
  return {
    ofMounts: (mounts) => NativeWorkspaces.ofMounts(mounts, native),
    ofConfig: (path) => NativeWorkspaces.fromConfig(path, native),
  };
}

/** The Workspaces of each request. */
export interface Source {
  /** Whether the name is one of our tools, provided just now or not. */
  knows(name: string): boolean;
  /** The Workspaces of this request; those of nobody where they cannot be told. */
  now(request: MountsRequest): Promise<Core>;
}

/** The source that the options describe. Throws where they are wrong. */
export function sourceOf(options: WorkspacesMiddlewareOptions, making: Making): Source {
  if (isConfig(options)) return fixed(making.ofConfig(options.config));
  const { mounts } = options;
  if (typeof mounts !== "function") return fixed(making.ofMounts(nativeMounts(mounts)));
  const nothing = making.ofMounts([]);
  const limit = timeLimitOf(options);
  const tell = options.onError ?? warn;
  return {
    knows: (name) => nothing.knows(name),
    now: async (request) => {
      try {
        const asked = Promise.resolve(mounts(request));
        return making.ofMounts(nativeMounts(await within(asked, limit, request.runtime.signal)));
      } catch (error) {
        if (isBubblingUp(error)) throw error;
        report(tell, error);
        return nothing;
      }
    },
  };
}

function fixed(core: Core): Source {
  return { knows: (name) => core.knows(name), now: () => Promise.resolve(core) };
}

/** What LangGraph throws to stop a run and ask a person is no failure. */
function isBubblingUp(error: unknown): boolean {
  try {
    return isRecord(error) && error["is_bubble_up"] === true;
  } catch {
    return false;
  }
}

/** The promise's value, unless the time is over or the run is stopped before. */
async function within<T>(promise: Promise<T>, limit: number, signal: AbortSignal | undefined): Promise<T> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  const timer = setTimeout(end, limit);
  signal?.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([promise, rejection(ended.signal, limit)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

function rejection(signal: AbortSignal, limit: number): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`mounts was stopped, or gave nothing within ${limit} ms`)));
  });
}

/** A person's own reporting must not end the run either. */
function report(tell: (error: unknown) => void, error: unknown): void {
  const both = (failed: unknown): void => {
    warn(failed);
    warn(error);
  };
  try {
    Promise.resolve(tell(error)).catch(both);
  } catch (failed) {
    both(failed);
  }
}

function warn(error: unknown): void {
  const reason = wordsOf(error);
  process.emitWarning(`the Workspaces of this turn could not be told, so the agent has no access: ${reason}`, "PaddockWarning");
}

/** What an error says. Anything can be thrown, also what cannot be made a text. */
function wordsOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "something was thrown that has no words";
  }
}
