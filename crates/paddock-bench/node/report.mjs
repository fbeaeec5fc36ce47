// The section of the page of results, in the form of its other ones. A ratio is ours divided by theirs, in work per second.
import { readFileSync } from "node:fs";
import { DEEPAGENTS, OURS, RAW, WITH_RIPGREP } from "./contenders.mjs";
import { median, quantile } from "./rounds.mjs";

const TITLE = "## The npm package";
const ASKED = `Work per second in one process of Node, one call at a time; more is better. \`openWorkspaces\` of \`@paddock/langchain\` (release
addon, no ledger) beside \`FilesystemBackend\` of deepagents (\`virtualMode\`, the one that keeps to a directory) and \`fs/promises\`
with no check at all, on the same files in memory. deepagents searches with ripgrep where it finds one on the path; npm brings none.
Measured by itself, so its goals are not among those counted above.`;

export function section(rows) {
  const lines = rows.flatMap(({ work, tree, samples }) => {
    const against = [DEEPAGENTS, WITH_RIPGREP, RAW].filter((name) => samples.has(name));
    return against.map((name) => row(`${work.shown}, ${tree.name}`, name, samples, name === DEEPAGENTS ? work.wanted : undefined));
  });
  const goals = lines.filter(({ met }) => met !== undefined);
  const versions = `Node ${process.version}, deepagents ${version("deepagents")}, langchain ${version("langchain")}`;
  return [
    TITLE,
    "",
    ASKED,
    "",
    `Goals met: ${goals.filter(({ met }) => met).length} of ${goals.length}. ${versions}.`,
    "",
    "| what | against | theirs | ours | ratio | rounds | wanted | |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ...lines.map(({ text }) => text),
    "",
  ].join("\n");
}

function row(what, name, samples, wanted) {
  const [theirs, ours] = [samples.get(name), samples.get(OURS)];
  const ratio = median(theirs) / median(ours);
  const byRound = theirs.map((taken, at) => taken / ours[at]);
  const met = wanted === undefined ? undefined : ratio >= wanted;
  const cells = [
    what,
    name,
    `${perSecond(theirs)}/s`,
    `${perSecond(ours)}/s`,
    `${ratio.toFixed(2)}×`,
    `${quantile(byRound, 0.25).toFixed(2)}–${quantile(byRound, 0.75).toFixed(2)}`,
    wanted === undefined ? "" : `≥ ${wanted}×`,
    met === undefined ? "" : met ? "✓" : "✗",
  ];
  return { met, text: `| ${cells.join(" | ")} |` };
}

function perSecond(samples) {
  const number = 1 / median(samples);
  return number < 10 ? number.toFixed(2) : Math.round(number).toLocaleString("en-US");
}

function version(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
}
