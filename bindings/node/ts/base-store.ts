/**
 * Files in a LangGraph `BaseStore`.
 *
 * Owns the form of the values (key: the path relative to the Mount, without a leading slash; one that is there with a slash, as
 * deepagents writes them, stays where it is) and the exact namespace. What else lies in the namespace is nobody's file.
 * `search` takes a *prefix* of namespaces, and stores read it so loosely that `["w", "a1"]` also finds `["w", "a10"]`: what
 * is not exactly ours is dropped here, before anything else sees it. Only `get`, `put`, `delete` and `search` are used, so
 * the batching store that a run hands out as `runtime.store` works too.
 */
import { Buffer } from "node:buffer";

import type { BaseFunctions, BaseItem, BasePage } from "./native.js";
import { isRecord, kindOf } from "./shapes.js";
import { tell, telling } from "./trouble.js";

/** One value of a LangGraph store, as far as it matters here. */
export interface LangGraphItem {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  updatedAt?: Date;
}

/** Any LangGraph `BaseStore`: the four methods that are used of it. */
export interface LangGraphStore {
  get(namespace: string[], key: string): Promise<LangGraphItem | null>;
  put(namespace: string[], key: string, value: Record<string, unknown>, index?: false | string[]): Promise<void>;
  delete(namespace: string[], key: string): Promise<void>;
  search(namespacePrefix: string[], options?: { limit?: number; offset?: number }): Promise<LangGraphItem[]>;
}

const METHODS: readonly string[] = ["get", "put", "delete", "search"];

/** Whether the value has the four methods. */
export function isLangGraphStore(value: unknown): value is LangGraphStore {
  return isRecord(value) && METHODS.every((name) => typeof value[name] === "function");
}

/** The store's methods as the core calls them, within one namespace. */
export function baseFunctions(store: LangGraphStore, namespace: string[]): BaseFunctions {
  const found = async (key: string): Promise<unknown> => (await store.get([...namespace], key)) ?? null;
  /** Some stores keep `["w", "a1"]` and `["w:a1"]` in one place: what lies there may be another's, and is not replaced. */
  const refuseAnothers = async (key: string): Promise<void> => {
    const there = await found(key);
    if (there !== null && !isOurs(there, namespace)) {
      throw new Error(`the store keeps a value of another namespace at the key ${JSON.stringify(key)}`);
    }
  };
  /** The key under which a path is kept. */
  const kept = async (key: string): Promise<string> => {
    if ((await found(key)) !== null) return key;
    return isOurs(await found(`/${key}`), namespace) ? `/${key}` : key;
  };
  return {
    get: telling("get", async (key: string) => {
      const there = await found(await kept(key));
      return isOurs(there, namespace) ? itemOf(there) : null;
    }),
    put: telling("put", async (item: BaseItem) => {
      const key = await kept(item.key);
      await refuseAnothers(key);
      // A store with an index would make embeddings of whole files: nobody asked for that.
      await store.put([...namespace], key, valueOf(item), false);
    }),
    delete: telling("delete", async (path: string) => {
      const key = await kept(path);
      await refuseAnothers(key);
      await store.delete([...namespace], key);
    }),
    page: telling("search", async (offset: number, limit: number) => {
      return pageOf(await store.search([...namespace], { limit, offset }), namespace);
    }),
  };
}

function pageOf(found: unknown, namespace: string[]): BasePage {
  if (!Array.isArray(found)) throw new Error(`the store's search has to answer an array, and answered ${kindOf(found)}`);
  return { items: found.filter((item: unknown) => isOurs(item, namespace)).flatMap(listed), scanned: found.length };
}

/** An item of a page. What is no file is left out, so that one strange value does not hide all others. */
function listed(found: unknown): BaseItem[] {
  try {
    return [itemOf(found)];
  } catch (error) {
    tell("search", error);
    return [];
  }
}

function withoutSlash(key: string): string {
  return key.startsWith("/") ? key.slice(1) : key;
}

/** Whether the item is in exactly this namespace. */
function isOurs(item: unknown, namespace: string[]): boolean {
  const labels: unknown = isRecord(item) ? item["namespace"] : undefined;
  return (
    Array.isArray(labels) &&
    labels.length === namespace.length &&
    namespace.every((label, position) => labels[position] === label)
  );
}

/** What is kept under a key: plain JSON, made anew, since stores keep the very object they are given. */
function valueOf(item: BaseItem): Record<string, unknown> {
  const modified_at = new Date(item.modified ?? Date.now()).toISOString();
  if (item.key.endsWith("/")) return { kind: "directory", modified_at };
  return { content: item.content, encoding: item.encoding, modified_at };
}

function itemOf(found: unknown): BaseItem {
  if (!isRecord(found) || typeof found["key"] !== "string" || !isRecord(found["value"])) {
    throw new Error("the store answered something that is not an item with a key and a value");
  }
  const { value } = found;
  const key = withoutSlash(found["key"]);
  const modified = momentOf(value["modified_at"]) ?? momentOf(found["updatedAt"]);
  const at = modified === undefined ? {} : { modified };
  if (key.endsWith("/") && value["kind"] === "directory") return { key, content: "", encoding: "utf-8", ...at };
  return { key, ...contentOf(key, value), ...at };
}

/** Ours, and the forms that deepagents keeps: lines in an array, text, bytes. */
function contentOf(key: string, value: Record<string, unknown>): Pick<BaseItem, "content" | "encoding"> {
  const { content, encoding } = value;
  if (content instanceof Uint8Array) return { content: Buffer.from(content).toString("base64"), encoding: "base64" };
  if (isLines(content)) return { content: content.join("\n"), encoding: "utf-8" };
  if (typeof content === "string" && (encoding === undefined || encoding === "utf-8" || encoding === "base64")) {
    return { content, encoding: encoding ?? "utf-8" };
  }
  throw new Error(`the value under the key ${JSON.stringify(key)} is not a file: its content is ${kindOf(content)}`);
}

function isLines(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((line) => typeof line === "string");
}

function momentOf(value: unknown): number | undefined {
  const moment = value instanceof Date ? value.getTime() : typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(moment) ? moment : undefined;
}
