/** Lists a store one of whose names no path can hold, and says what came of it. */
import { openWorkspaces } from "../../esm/index.js";
import { MapStore } from "./agents.js";

const store = new MapStore({ "fine.txt": "fine" });
store.list = async () => ["a/b", "fine.txt", ".."];
const workspaces = openWorkspaces({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store }] });
const listed = (await workspaces.run("list_dir", { path: "/w" })).trim();
const found = (await workspaces.run("find_files", { path: "/w", glob: "*" })).includes("/w/fine.txt");
const { verdict: written } = await workspaces.call("write_file", { path: "/w/new.txt", content: "new" });
console.log(JSON.stringify({ listed, found, written }));
// What was told is written by now: each call came back after it.
