/**
 * The locks of JavaScript stores.
 *
 * A JavaScript store has no compare-and-swap, so the core edits under a lock per key. The locks belong to the store object,
 * whoever wraps it and however often: here is the one table. It holds no store alive. The locks of a store that says which it
 * is belong to that identity, and the core keeps those.
 */
import { StoreLocks } from "./native.js";
import type { Locks } from "./native.js";
import { isRecord } from "./shapes.js";

const LOCKS = new WeakMap<object, Locks>();

/** The locks of this store, the same ones each time. */
export function locksOf(store: object, identity?: string): Locks {
  if (identity !== undefined) return new StoreLocks(identity);
  const owner = innermost(store);
  const known = LOCKS.get(owner);
  if (known) return known;
  const fresh = new StoreLocks();
  LOCKS.set(owner, fresh);
  return fresh;
}

/** LangGraph gives each run its own batching wrapper around one store: what is locked is the store inside. */
function innermost(store: object): object {
  const inner: unknown = Reflect.get(store, "lg_name") === "AsyncBatchedStore" ? Reflect.get(store, "store") : undefined;
  return isRecord(inner) ? inner : store;
}
