/** One command of an agent that changes a file. A program of its own, since what Bun sets in its environment no addon sees. */
import { createCommandsMiddleware } from "../../esm/commands.js";
import { physicalStore } from "../../esm/index.js";
import { at, directory, play } from "./agents.js";

const middleware = createCommandsMiddleware({ mounts: [{ prefix: "/w", scope: "READ_WRITE", store: physicalStore(directory()) }] });
const { answers } = await play([middleware], [{ name: "execute_command", args: { command: "echo x > /w/a.txt" } }]);
if (at(answers, 0).status !== "success") throw new Error(at(answers, 0).text);
