// The work, and how its results are checked. `setUp` and `check` are outside the clock.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { content } from "./trees.mjs";

/** Files spread over the tree, others in each round. */
const some = (tree, round, count) => {
  return Array.from({ length: count }, (_, at) => (round * 7919 + at * 104_729) % tree.paths.length);
};
const onDisk = (tree, number) => readFileSync(join(tree.place, tree.paths[number]), "utf8");
const restore = (tree, number) => writeFileSync(join(tree.place, tree.paths[number]), content(number));

export const WORK = [
  {
    name: "read",
    shown: "read a file of 4 KiB",
    rounds: 25,
    wanted: 2,
    plan: (tree, round) => some(tree, round, 40),
    act: (contender, tree, number) => contender.read(tree.paths[number]),
    check: (_, number, said) => assert.equal(said.trimEnd(), content(number).trimEnd()),
  },
  {
    name: "write",
    shown: "overwrite a file of 4 KiB",
    rounds: 25,
    wanted: 2,
    plan: (tree, round) => some(tree, round, 40),
    act: (contender, tree, number) => contender.write(tree.paths[number], content(number).replace("before", "after")),
    check: (tree, number) => {
      assert.equal(onDisk(tree, number), content(number).replace("before", "after"));
      restore(tree, number);
    },
  },
  {
    name: "edit",
    shown: "edit a file of 4 KiB",
    rounds: 25,
    wanted: 2,
    plan: (tree, round) => some(tree, round, 40),
    act: (contender, tree, number) => contender.edit(tree.paths[number], '"before"', '"after"'),
    check: (tree, number) => {
      assert.equal(onDisk(tree, number), content(number).replace("before", "after"));
      restore(tree, number);
    },
  },
  {
    name: "list",
    shown: "list a directory",
    rounds: 25,
    wanted: 2,
    plan: () => Array.from({ length: 10 }, () => 0),
    act: (contender, tree) => contender.list(tree.listed),
    check: (tree, _, said) => assert.deepEqual(said, tree.names),
  },
  {
    name: "search",
    shown: "find a text in all of them",
    rounds: 7,
    wanted: 10,
    plan: () => [0],
    act: (contender) => contender.search(),
    check: (tree, _, said) => assert.deepEqual(said, tree.holding),
  },
];
