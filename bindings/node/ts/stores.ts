/**
 * The Stores that a Mount can have.
 *
 * Each function makes a handle of the core; what a Store does is the core's business. A wrong argument throws here, while the
 * program is being set up, and not in the middle of a run.
 */
import { baseFunctions, isLangGraphStore } from "./base-store.js";
import type { LangGraphStore } from "./base-store.js";
import { check } from "./checks.js";
import { locksOf } from "./locks.js";
import { NativeStore } from "./native.js";
import type { Store } from "./native.js";
import { identityOf, isStorePort, portFunctions } from "./port.js";
import type { StorePort } from "./port.js";
import { kindOf } from "./shapes.js";

export type { Store } from "./native.js";

/** A directory of the host. */
export function physicalStore(rootDir: string): Store {
  check("physicalStore", { rootDir });
  return NativeStore.physical(rootDir);
}

/** Where the files of a Virtual Store are. */
export interface VirtualStoreOptions {
  /**
   * `sqlite:FILE`, `postgres://…`, or `memory` (nothing on disk, gone with the process). Absent: the embedded database in the
   * System Root, of the current directory.
   */
  url?: string;
  /** Which files: two Stores with different namespaces never see each other's, also where one's label begins the other's. */
  namespace: string[];
}

/** Files in a database, versioned; nothing of them lies on the host's disk as a file. */
export function virtualStore(options: VirtualStoreOptions): Store {
  check("virtualStore", options);
  return NativeStore.virtual(options.url, options.namespace);
}

/**
 * Files in a LangGraph store, under exactly this namespace: in `new InMemoryStore()`, `PostgresStore`, or the `runtime.store`
 * of a run (use a function for `mounts` then).
 */
export function baseStore(store: LangGraphStore | null | undefined, namespace: string[]): Store {
  if (!isLangGraphStore(store)) {
    throw new TypeError(
      `baseStore needs a LangGraph store, and got ${kindOf(store)}; hint: give the agent one with createAgent({ store })`,
    );
  }
  check("baseStore", { namespace });
  return NativeStore.base(locksOf(store), [...namespace], baseFunctions(store, [...namespace]));
}

/** Copy-on-write: reads come from `lower` until something is written, and whatever is written goes to `upper`, a Virtual Store. */
export function overlayStore(lower: Store | StorePort, upper: Store): Store {
  return NativeStore.overlay(toStore(lower), toStore(upper));
}

/** A Store of Paddock's own as it is; any other object that has the methods of `StorePort`, as one. */
export function toStore(store: Store | StorePort): Store {
  if (store instanceof NativeStore) return store;
  if (isStorePort(store)) return NativeStore.port(locksOf(store, identityOf(store)), portFunctions(store));
  throw new TypeError(
    `a Store has to be made by physicalStore, virtualStore, baseStore or overlayStore, ` +
      `or to have the methods read, write, edit and list; this is ${kindOf(store)}`,
  );
}
