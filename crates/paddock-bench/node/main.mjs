// Measures the npm package beside the file tools of deepagents and beside `fs/promises`: the same work on the same files, in one
// process and one run, the contenders taking turns. Started by `cargo xtask bench`, which installs all of them beside this file.
// Prints what each round took as JSON. Every answer is checked; a figure is never asserted.
import { rmSync } from "node:fs";
import { contenders } from "./contenders.mjs";
import { rows } from "./report.mjs";
import { measured } from "./rounds.mjs";
import { layOut, SMALL, LARGE } from "./trees.mjs";
import { WORK } from "./work.mjs";

const quick = process.argv.includes("--quick");
const measurements = [];
for (const shape of [SMALL, LARGE]) {
  const tree = layOut(shape);
  try {
    const everybody = await contenders(tree);
    for (const work of WORK) {
      const able = everybody.filter((contender) => contender[work.name]);
      const samples = await measured(work, tree, able, quick);
      measurements.push({ work, tree, samples });
    }
  } finally {
    rmSync(tree.place, { recursive: true, force: true });
  }
}
process.stdout.write(`${JSON.stringify(rows(measurements))}\n`);
