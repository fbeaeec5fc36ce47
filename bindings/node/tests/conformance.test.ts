/**
 * The conformance suite of Stores, the one that every Store of the core passes, driven through JavaScript: on a LangGraph store,
 * on SQLite and (with PADDOCK_TEST_POSTGRES) on PostgreSQL. What is behind the addon is the same in each runtime, so that
 * Node alone asks the databases; what calls JavaScript runs in all of them.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { InMemoryStore } from "@langchain/langgraph-checkpoint";

import type * as native from "../native.cjs";
import { baseStore, virtualStore } from "../esm/index.js";
import type { Store } from "../esm/index.js";
import { directory, isNode } from "./support/agents.js";

const addon: Partial<typeof native> = createRequire(import.meta.url)("../native.cjs");
const { conformanceCases, runConformanceCase } = addon;
const postgres = process.env["PADDOCK_TEST_POSTGRES"];
const fresh = `${process.pid}-${Date.now()}`;

/** How many fresh Stores a case gets: those that let each call of a change fail in turn take one for each. */
const storesFor = (title: string): number => (title.startsWith("meanwhile::") ? 500 : 24);

/** A namespace that nobody had before. */
let made = 0;
const unused = (): string[] => ["conformance", fresh, String((made += 1))];

const KINDS: [string, boolean, () => Store][] = [["a LangGraph InMemoryStore", false, () => baseStore(new InMemoryStore(), unused())]];
if (isNode) {
  const url = `sqlite:${join(directory(), "files.db")}`;
  KINDS.push(["SQLite", true, () => virtualStore({ url, namespace: unused() })]);
}
if (isNode && postgres) KINDS.push(["PostgreSQL", true, () => virtualStore({ url: postgres, namespace: unused() })]);

for (const [name, atomicSets, make] of KINDS) {
  for (const title of conformanceCases?.() ?? []) {
    test(`${name}: ${title}`, async () => {
      assert.ok(runConformanceCase, "an addon built for tests has the suite");
      await runConformanceCase(title, Array.from({ length: storesFor(title) }, make), atomicSets).ended();
    });
  }
}

test("the addon under test was built with the suite", () => {
  assert.ok((conformanceCases?.() ?? []).length > 20, "hint: npm run build:native");
});
