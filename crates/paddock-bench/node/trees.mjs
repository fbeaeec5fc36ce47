// The files that everybody works on, in memory where the machine has such a place.
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const SMALL = { name: "100 files", directories: 4, files: 25 };
export const LARGE = { name: "20,000 files", directories: 40, files: 500 };
export const NEEDLE = "the needle of this haystack";
/** Of so many files one holds the needle. */
const EACH = 50;
const SIZE = 4096;

/** A text of 4 KiB with one word that is edited back and forth. */
export function content(number) {
  const found = number % EACH === 0 ? `// ${NEEDLE}\n` : "";
  const head = `// file ${number}\nexport const marked = "before";\n${found}`;
  const line = `export const value_${number} = compute(${number}); // nothing to be found here\n`;
  return (head + line.repeat(Math.ceil(SIZE / line.length))).slice(0, SIZE - 1) + "\n";
}

/** Makes the files; what is expected of them comes along. */
export function layOut({ name, directories, files }) {
  const place = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "paddock-bench-node-"));
  const paths = [];
  for (let directory = 0; directory < directories; directory += 1) {
    mkdirSync(join(place, `part-${directory}`));
    for (let file = 0; file < files; file += 1) {
      const path = `part-${directory}/file-${file}.ts`;
      writeFileSync(join(place, path), content(paths.length));
      paths.push(path);
    }
  }
  const names = Array.from({ length: files }, (_, file) => `file-${file}.ts`).sort();
  const holding = paths.filter((_, number) => number % EACH === 0).sort();
  return { name, place, paths, names, holding, listed: "part-1" };
}
