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

import type { BaseFunctions, BaseItem, BaseNames, BasePage } from "./native.js";
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

/** More items than this in one answer are refused: an array can claim any length. */
const MOST_ITEMS = 1_000_000;

const METHODS: readonly string[] = ["get", "put", "delete", "search"];

/** Whether the value has the four methods. */
export function isLangGraphStore(value: unknown): value is LangGraphStore {
  return isRecord(value) && METHODS.every((name) => typeof value[name] === "function");
}

/** The store's methods as the core calls them, within one namespace. */
export function baseFunctions(store: LangGraphStore, namespace: string[]): BaseFunctions {
  const found = async (key: string): Promise<unknown> => (await store.get([...namespace], key)) ?? null;
  /** What is at a path, and under which key: asked for at once, since a run's store gathers what it is asked in one moment. */
  const kept = async (key: string): Promise<{ key: string; there: unknown }> => {
    const [there, slashed] = await Promise.all([found(key), found(`/${key}`)]);
    return there === null && isOurs(slashed, namespace) ? { key: `/${key}`, there: slashed } : { key, there };
  };
  const item = ({ there }: { there: unknown }): BaseItem | null => (isOurs(there, namespace) ? itemOf(there) : null);
  /** Some stores keep `["w", "a1"]` and `["w:a1"]` in one place: what lies there may be another's, and is not replaced. */
  const keptOurs = async (path: string): Promise<string> => {
    const { key, there } = await kept(path);
    if (there !== null && !isOurs(there, namespace)) {
      throw new Error(`the store keeps a value of another namespace at the key ${JSON.stringify(key)}`);
    }
    return key;
  };
  const page = async (offset: number, limit: number): Promise<unknown[]> => {
    const given: unknown = await store.search([...namespace], { limit, offset });
    if (!Array.isArray(given)) throw new Error(`the store's search has to answer an array, and answered ${kindOf(given)}`);
    if (given.length > MOST_ITEMS) throw new Error(`the store's search answered more than ${MOST_ITEMS} items`);
    return given;
  };
  return {
    look: telling("get", async (path: string) => {
      const [file, directory] = await Promise.all([kept(path), kept(`${path}/`)]);
      if (item(file) !== null) return "file";
      return item(directory) === null ? null : "directory";
    }),
    get: telling("get", async (path: string) => item(await kept(path))),
    put: telling("put", async (given: BaseItem) => {
      // A store with an index would make embeddings of whole files: nobody asked for that.
      await store.put([...namespace], await keptOurs(given.key), valueOf(given), false);
    }),
    delete: telling("delete", async (path: string) => {
      await store.delete([...namespace], await keptOurs(path));
    }),
    page: telling("search", async (offset: number, limit: number): Promise<BasePage> => {
      const given = await page(offset, limit);
      const files = given.filter((one) => isOurs(one, namespace) && isListed(one));
      return { items: files.map(itemOf), scanned: given.length, first: nameOf(given[0]) };
    }),
    names: telling("search", async (offset: number, limit: number): Promise<BaseNames> => {
      const given = await page(offset, limit);
      let keys = "";
      for (const one of given) {
        const key = isOurs(one, namespace) && isListed(one) ? keyOf(one) : "";
        if (!key.includes(BETWEEN)) keys += BETWEEN + key;
      }
      return { keys, scanned: given.length, first: nameOf(given[0]) };
    }),
  };
}

/** What stands between two keys. One that holds it is no path. */
const BETWEEN = "\u0000";

/** Whether the item is a file or a directory. What is neither is left out, so that one strange value does not hide all others. */
function isListed(found: unknown): boolean {
  const wrong = whatIsWrong(found);
  if (wrong !== undefined) tell("search", wrong);
  return wrong === undefined;
}

/** What tells an item from all others. */
function nameOf(found: unknown): string {
  return isRecord(found) ? JSON.stringify([found["namespace"], found["key"]]) : "";
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

/** The path of an item, as the core knows it. */
function keyOf(found: unknown): string {
  const key: unknown = isRecord(found) ? found["key"] : undefined;
  return typeof key === "string" ? withoutSlash(key) : "";
}

/** Why an item is neither a file nor a directory. Looked at without its content being touched, and quickly: it is asked of every key. */
function whatIsWrong(found: unknown): string | undefined {
  if (!isRecord(found) || typeof found["key"] !== "string" || !isRecord(found["value"])) {
    return "the store answered something that is not an item with a key and a value";
  }
  const { key, value } = found;
  const { content, encoding } = value;
  if (typeof content === "string" && (encoding === undefined || encoding === "utf-8")) return undefined;
  if (content instanceof Uint8Array || isLines(content) || (key.endsWith("/") && value["kind"] === "directory")) return undefined;
  if (typeof content === "string" && encoding === "base64" && isBase64(content)) return undefined;
  const what = typeof content === "string" ? "text in an encoding that it is not in" : kindOf(content);
  return `the value under the key ${JSON.stringify(key)} is not a file: its content is ${what}`;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[\d+/A-Za-z]*={0,2}$/u.test(text);
}

function itemOf(found: unknown): BaseItem {
  const wrong = whatIsWrong(found);
  if (wrong !== undefined || !isRecord(found) || !isRecord(found["value"])) throw new Error(wrong);
  const { value } = found;
  const modified = momentOf(value["modified_at"]) ?? momentOf(found["updatedAt"]);
  return { key: keyOf(found), ...contentOf(value), ...(modified !== undefined && { modified }) };
}

/** Ours, and the forms that deepagents keeps: lines in an array, text, bytes. A directory has none. */
function contentOf({ content, encoding }: Record<string, unknown>): Pick<BaseItem, "content" | "encoding"> {
  if (content instanceof Uint8Array) return { content: Buffer.from(content).toString("base64"), encoding: "base64" };
  if (isLines(content)) return { content: content.join("\n"), encoding: "utf-8" };
  return { content: typeof content === "string" ? content : "", encoding: encoding === "base64" ? "base64" : "utf-8" };
}

function isLines(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((line) => typeof line === "string");
}

function momentOf(value: unknown): number | undefined {
  const moment = value instanceof Date ? value.getTime() : typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(moment) ? moment : undefined;
}
