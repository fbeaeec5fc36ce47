/**
 * The conformance suite of Stores, the one that every Store of the core passes, driven through JavaScript: on a LangGraph store,
 * on SQLite and (with PADDOCK_TEST_POSTGRES) on PostgreSQL.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { InMemoryStore } from "@langchain/langgraph-checkpoint";

import type * as native from "../native.cjs";
import { baseStore, virtualStore } from "../esm/index.js";
import type { Store } from "../esm/index.js";
import { directory } from "./support/agents.js";

const addon: Partial<typeof native> = createRequire(import.meta.url)("../native.cjs");
const { conformanceCases, runConformanceCase } = addon;
const postgres = process.env["PADDOCK_TEST_POSTGRES"];
const fresh = `${process.pid}-${Date.now()}`;

/** How many fresh Stores a case gets: those that let each call of a change fail in turn take one for each. */
const storesFor = (title: string): number => (title.startsWith("meanwhile::") ? 500 : 24);

/** A namespace that nobody had before. */
let made = 0;
const unused = (): string[] => ["conformance", fresh, String((made += 1))];

const sqlite = `sqlite:${join(directory(), "files.db")}`;
const KINDS: [string, boolean, () => Store][] = [
  ["a LangGraph InMemoryStore", false, () => baseStore(new InMemoryStore(), unused())],
  ["SQLite", true, () => virtualStore({ url: sqlite, namespace: unused() })],
];
if (postgres) KINDS.push(["PostgreSQL", true, () => virtualStore({ url: postgres, namespace: unused() })]);

/** Two thousand new files in a store that can only be listed whole take a minute, most of it the store's: once is enough. */
const once = (name: string, title: string): string | false => {
  const slow = name.includes("LangGraph") && title === "walking::a_directory_of_thousands_is_listed_in_order";
  return slow && ("Bun" in globalThis || "Deno" in globalThis) ? "runs in Node" : false;
};

for (const [name, atomicSets, make] of KINDS) {
  for (const title of conformanceCases?.() ?? []) {
    test(`${name}: ${title}`, { skip: once(name, title) }, async () => {
      assert.ok(runConformanceCase, "an addon built for tests has the suite");
      await runConformanceCase(title, Array.from({ length: storesFor(title) }, make), atomicSets).ended();
    });
  }
}

test("the addon under test was built with the suite", () => {
  assert.ok((conformanceCases?.() ?? []).length > 20, "hint: npm run build:native");
});
