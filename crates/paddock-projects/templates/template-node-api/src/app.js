import { createServer } from "node:http";

/** The largest body that is read. */
const LARGEST = 64 * 1024;

/** A request that is answered with a status other than 500. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function body(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > LARGEST) throw new Refusal(413, "the body is too large");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new Refusal(400, "the body is no JSON");
  }
}

function send(response, status, value) {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(value === undefined ? undefined : JSON.stringify(value));
}

/** One row per route: method, path, and what answers. A part in capitals takes any value. */
function routes(notes) {
  const find = (id) => {
    if (!notes.has(id)) throw new Refusal(404, `there is no note "${id}"`);
    return notes.get(id);
  };
  return [
    ["GET", "/health", () => [200, { ok: true }]],
    ["GET", "/notes", () => [200, [...notes.values()]]],
    ["GET", "/notes/ID", ({ ID }) => [200, find(ID)]],
    [
      "POST",
      "/notes",
      async (_, request) => {
        const { text } = await body(request);
        if (typeof text !== "string" || text === "") throw new Refusal(400, "a note has a text");
        const note = { id: crypto.randomUUID(), text };
        notes.set(note.id, note);
        return [201, note];
      },
    ],
    [
      "DELETE",
      "/notes/ID",
      ({ ID }) => {
        notes.delete(find(ID).id);
        return [204];
      },
    ],
  ];
}

function match(pattern, path) {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  const values = {};
  for (const [n, part] of wanted.entries()) {
    if (part !== "" && part === part.toUpperCase()) values[part] = given[n];
    else if (part !== given[n]) return null;
  }
  return values;
}

/** A server with notes of its own, not listening yet. */
export function app() {
  const table = routes(new Map());
  return createServer(async (request, response) => {
    try {
      const { pathname } = new URL(request.url, "http://localhost");
      const here = table.map(([method, pattern, answer]) => [method, match(pattern, pathname), answer]);
      const possible = here.filter(([, values]) => values);
      if (possible.length === 0) throw new Refusal(404, `there is nothing at ${pathname}`);
      const row = possible.find(([method]) => method === request.method);
      if (!row) throw new Refusal(405, `${request.method} is not possible at ${pathname}`);
      const [status, value] = await row[2](row[1], request);
      send(response, status, value);
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      const status = error instanceof Refusal ? error.status : 500;
      send(response, status, { error: status === 500 ? "something went wrong" : error.message });
    }
  });
}
