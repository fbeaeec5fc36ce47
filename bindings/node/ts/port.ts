/**
 * Stores that somebody else wrote in JavaScript.
 *
 * Owns the interface `StorePort` and the check of what such a store answers. A store may throw, reject, never answer or
 * answer nonsense; here each of these becomes a rejection with a clear sentence, which the core turns into a message to the
 * model. (Never answering is the core's to notice: it holds the time limit.)
 */
import type { PortFunctions, PortStat } from "./native.js";
import { isRecord, kindOf } from "./shapes.js";
import { tellLeftOut, telling } from "./trouble.js";

/** What a store says about one path. */
export interface StoreStat {
  kind: "file" | "directory";
  /** In milliseconds since 1970. */
  modified?: number;
}

/**
 * A Store written in JavaScript: any object with these four methods. Paths start at the Mount: `/notes/a.md`, and `/`
 * is the Mount itself.
 *
 * Tools that need a method which is not there are not provided.
 */
export interface StorePort {
  /** The whole content. Rejects where there is no such file. */
  read(path: string, offset?: number, limit?: number): Promise<string>;
  /** Creates or replaces the file. */
  write(path: string, content: string): Promise<void>;
  /** Replaces `oldStr`, which occurs once; gives the number of replacements. */
  edit(path: string, oldStr: string, newStr: string): Promise<number>;
  /** The names directly in the directory; those of directories end with `/`. What no path can hold is left out. */
  list(path: string): Promise<string[]>;
  /** What is there, `null` where nothing is. */
  stat?(path: string): Promise<StoreStat | null>;
  /** Removes the file. */
  remove?(path: string): Promise<void>;
  /** Paths of the files below `path` that may hold a match of the regular expression; the core reads and matches them. */
  search?(path: string, pattern: string): Promise<string[]>;
  /**
   * Which files these are, for an object that is made anew for each call: changes through all objects of one identity stand in
   * one line, so that no edit is lost. Without it each object stands for itself.
   */
  readonly identity?: string;
}

/** More names than this in one answer are refused: an array can claim any length. */
const MOST_NAMES = 1_000_000;

const METHODS: readonly string[] = ["read", "write", "edit", "list"];

/** Whether the value has the four methods. */
export function isStorePort(value: unknown): value is StorePort {
  return isRecord(value) && METHODS.every((name) => typeof value[name] === "function");
}

/** Which files these are, if the object says it. */
export function identityOf(port: StorePort): string | undefined {
  const identity: unknown = port.identity;
  if (identity === undefined || (typeof identity === "string" && identity !== "")) return identity;
  throw new TypeError(`the identity of a store has to be a string with something in it, and is ${identity === "" ? "empty" : kindOf(identity)}`);
}

/** The store's methods as the core calls them, each answer checked. */
export function portFunctions(port: StorePort): PortFunctions {
  return {
    leftOut: tellLeftOut,
    read: telling("read", async (path: string) => aString("read", await port.read(path))),
    write: telling("write", async (path: string, content: string) => {
      await port.write(path, content);
    }),
    edit: telling("edit", async (path: string, before: string, after: string) => {
      return aCount("edit", await port.edit(path, before, after));
    }),
    list: telling("list", async (path: string) => names("list", await port.list(path))),
    ...(port.stat && { stat: telling("stat", async (path: string) => aStat(await port.stat?.(path))) }),
    ...(port.remove && {
      remove: telling("remove", async (path: string) => {
        await port.remove?.(path);
      }),
    }),
    ...(port.search && {
      search: telling("search", async (path: string, pattern: string) => {
        return names("search", await port.search?.(path, pattern));
      }),
    }),
  };
}

function aString(method: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw wrong(method, "a string", value);
}

function aCount(method: string, value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrong(method, "a number of replacements", value);
}

function names(method: string, value: unknown): string[] {
  if (!Array.isArray(value)) throw wrong(method, "an array of strings", value);
  if (value.length > MOST_NAMES) throw new Error(`the store's ${method} answered more than ${MOST_NAMES} names`);
  return Array.from(value, (name: unknown) => {
    if (typeof name === "string") return name;
    throw wrong(method, "an array of strings", name);
  });
}

function aStat(value: unknown): PortStat | null {
  if (value === null) return null;
  if (!isRecord(value)) throw wrong("stat", "an object or null", value);
  const { kind, modified } = value;
  if (kind !== "file" && kind !== "directory") throw wrong("stat", 'a kind of "file" or "directory"', kind);
  if (modified === undefined) return { kind };
  if (typeof modified === "number" && Number.isFinite(modified)) return { kind, modified };
  throw wrong("stat", "a number as modified", modified);
}

function wrong(method: string, expected: string, value: unknown): Error {
  return new Error(`the store's ${method} has to answer ${expected}, and answered ${kindOf(value)}`);
}
