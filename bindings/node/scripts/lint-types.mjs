// Proves what the compiler alone does not: no `any`, no assertion (`x as T`, `<T>x`, `x!`) and no switched-off check in ts/,
// tests/ and examples/. Reads the syntax tree, so that words in comments and texts do not matter.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const FORBIDDEN = new Map([
  [ts.SyntaxKind.AnyKeyword, "`any`"],
  [ts.SyntaxKind.AsExpression, "an `as` assertion"],
  [ts.SyntaxKind.TypeAssertionExpression, "a `<T>` assertion"],
  [ts.SyntaxKind.NonNullExpression, "a `!` assertion"],
]);
const SWITCHED_OFF = /@ts-(ignore|nocheck|expect-error)|eslint-disable/u;

/** Everything forbidden in one source text, as `line: what`. */
export function problemsOf(text) {
  const source = ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true);
  const found = [];
  const say = (position, what) => found.push(`${source.getLineAndCharacterOfPosition(position).line + 1}: ${what}`);
  const look = (node) => {
    const what = FORBIDDEN.get(node.kind);
    if (what) say(node.getStart(source), what);
    ts.forEachChild(node, look);
  };
  look(source);
  const off = SWITCHED_OFF.exec(text);
  if (off) say(off.index, `\`${off[0]}\``);
  return found;
}

function main() {
  // Can this fail at all? Each forbidden thing has to be found where it is.
  const samples = ["let x: any;", "f(y as T);", "f(<T>y);", "f(y!);", "// @ts-ignore\nf();"];
  const blind = samples.filter((sample) => problemsOf(sample).length !== 1);
  if (blind.length > 0) throw new Error(`the check does not see: ${blind.join(" ")}`);
  let problems = 0;
  for (const directory of ["ts", "tests", "examples"]) {
    for (const name of readdirSync(join(here, directory), { recursive: true }).filter((name) => name.endsWith(".ts"))) {
      for (const problem of problemsOf(readFileSync(join(here, directory, name), "utf8"))) {
        console.error(`${directory}/${name}:${problem}`);
        problems += 1;
      }
    }
  }
  if (problems > 0) process.exit(1);
}

main();
