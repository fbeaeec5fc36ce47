// What was measured, for who writes the page: seconds per piece of work, round by round. Nothing is judged here.
import { DEEPAGENTS, OURS, RAW, WITH_RIPGREP } from "./contenders.mjs";

export function rows(measured) {
  return measured.flatMap(({ work, tree, samples }) => {
    const against = [DEEPAGENTS, WITH_RIPGREP, RAW].filter((name) => samples.has(name));
    return against.map((name) => ({
      what: `${work.shown}, ${tree.name}`,
      against: name,
      theirs: samples.get(name),
      ours: samples.get(OURS),
      wanted: name === DEEPAGENTS || name === WITH_RIPGREP ? work.wanted : undefined,
    }));
  });
}
