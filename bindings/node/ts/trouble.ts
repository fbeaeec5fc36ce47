/**
 * What a store did wrong, for the person who wrote it.
 *
 * A model never reads it: an error may name places of the host. With `NODE_DEBUG=paddock` it is written to standard error.
 */
import { debuglog } from "node:util";

const log = debuglog("paddock");

/** Writes down what went wrong in a method. */
export function tell(method: string, error: unknown): void {
  try {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log("a store's %s failed: %s", method, reason);
  } catch {
    log("a store's %s failed with something that has no words", method);
  }
}

/** Writes down what was left out of a store's answer, since no agent could name it. */
export function tellLeftOut(why: string): void {
  log("left out of a store's answer: %s", why);
}

/** The same function, whose failures are written down. */
export function telling<A extends unknown[], R>(method: string, run: (...given: A) => Promise<R>): (...given: A) => Promise<R> {
  return async (...given) => {
    try {
      return await run(...given);
    } catch (error) {
      tell(method, error);
      throw error;
    }
  };
}
