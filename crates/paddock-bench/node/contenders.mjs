// Who is measured, and how each is asked. Each gives the same plain answers: a text, nothing, sorted names, sorted paths.
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join, relative } from "node:path";
import { openWorkspaces, physicalStore } from "@paddock/langchain";
import { FilesystemBackend } from "deepagents";
import { NEEDLE } from "./trees.mjs";

export const OURS = "Paddock";
export const DEEPAGENTS = "deepagents";
export const WITH_RIPGREP = "deepagents with ripgrep";
export const RAW = "fs/promises";

export async function contenders(tree) {
  const all = [paddock(tree), deepagents(tree, DEEPAGENTS, ""), raw(tree)];
  const ripgrep = process.env.PADDOCK_BENCH_RIPGREP;
  if (ripgrep && existsSync(ripgrep)) {
    const { name, search } = deepagents(tree, WITH_RIPGREP, dirname(ripgrep));
    all.push({ name, search });
  }
  return all;
}

function paddock({ place }) {
  const mounts = [{ prefix: "/tree", scope: "READ_WRITE", store: physicalStore(place) }];
  const workspaces = openWorkspaces({ mounts });
  const run = (name, args) => workspaces.run(name, args);
  return {
    name: OURS,
    read: (path) => run("read_file", { path: `/tree/${path}` }),
    write: (path, content) => run("write_file", { path: `/tree/${path}`, content }),
    edit: (path, old_string, new_string) => run("edit_file", { path: `/tree/${path}`, old_string, new_string }),
    list: async (path) => (await run("list_dir", { path: `/tree/${path}` })).trimEnd().split("\n").sort(),
    search: async () => {
      const said = await run("search_files", { path: "/tree", pattern: NEEDLE, limit: 10_000 });
      return said.split("\n").filter((line) => line.startsWith("/tree/")).map((line) => line.slice("/tree/".length)).sort();
    },
  };
}

/** `found` is where it finds ripgrep: it looks for it on the path, and npm installs none. */
function deepagents({ place }, name, found) {
  const files = new FilesystemBackend({ rootDir: place, virtualMode: true });
  const checked = (answer) => {
    if (answer.error) throw new Error(`${name}: ${answer.error}`);
    return answer;
  };
  const path = process.env.PATH.split(delimiter).filter((directory) => !existsSync(join(directory, "rg")));
  return {
    name,
    read: async (path) => checked(await files.read(`/${path}`)).content,
    write: async (path, content) => checked(await files.write(`/${path}`, content)),
    edit: async (path, old, next) => checked(await files.edit(`/${path}`, old, next)),
    list: async (directory) => {
      const { files: listed } = checked(await files.ls(`/${directory}`));
      return listed.map((entry) => entry.path.slice(directory.length + 2)).sort();
    },
    search: async () => {
      process.env.PATH = [found, ...path].filter(Boolean).join(delimiter);
      const { matches } = checked(await files.grep(NEEDLE, "/"));
      return matches.map((match) => match.path.slice(1)).sort();
    },
  };
}

/** The least that a program of one's own does, with no check of any path. */
function raw({ place }) {
  return {
    name: RAW,
    read: (path) => readFile(join(place, path), "utf8"),
    write: (path, content) => writeFile(join(place, path), content),
    edit: async (path, old, next) => {
      const text = await readFile(join(place, path), "utf8");
      await writeFile(join(place, path), text.replace(old, next));
    },
    list: async (path) => (await readdir(join(place, path))).sort(),
    search: async () => {
      const found = [];
      for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath ?? entry.path, entry.name);
        const text = await readFile(path, "utf8");
        if (text.includes(NEEDLE)) found.push(relative(place, path));
      }
      return found.sort();
    },
  };
}
