// Measures the npm package beside the file tools of deepagents and beside `fs/promises`: the same work on the same files, in one
// process and one run, the contenders taking turns. Started by `cargo xtask bench`, which installs all of them beside this file.
// Prints a section for the page of results. Every answer is checked; a figure is never asserted.
import { rmSync } from "node:fs";
import { contenders } from "./contenders.mjs";
import { section } from "./report.mjs";
import { measured } from "./rounds.mjs";
import { layOut, SMALL, LARGE } from "./trees.mjs";
import { WORK } from "./work.mjs";

const quick = process.argv.includes("--quick");
const rows = [];
for (const shape of [SMALL, LARGE]) {
  const tree = layOut(shape);
  try {
    const all = await contenders(tree);
    for (const work of WORK) {
      const able = all.filter((contender) => contender[work.name]);
      const samples = await measured(work, tree, able, quick);
      rows.push({ work, tree, samples });
    }
  } finally {
    rmSync(tree.place, { recursive: true, force: true });
  }
}
process.stdout.write(section(rows));
