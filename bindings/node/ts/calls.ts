/**
 * One call of a tool, through the core.
 *
 * Owns the way in and the form of what comes out. It never throws for what a model or a store does: the core answers each
 * call, and stopping it is an answer too.
 */
import { Buffer } from "node:buffer";

import type { Core, NativeAnswer, NativePiece } from "./native.js";
import { parseObject } from "./shapes.js";

/** A piece of an answer: text, or an image. */
export type AnswerPiece = { type: "text"; text: string } | { type: "image"; mimeType: string; data: string };

/** What a call came to. */
export interface Answer {
  /** `done`, or why not: `denied`, `failed`, `invalid` (arguments), `parked` (a person is asked first). */
  verdict: string;
  /** Why it was not done, in one word. */
  reason?: string;
  /** The text of the answer. */
  text: string;
  /** The answer piece by piece, images included. */
  pieces: AnswerPiece[];
  /** Facts beside the text: versions, counts, where to go on. */
  facts: Record<string, unknown>;
}

/** How long a call may take, and what stops it. */
export interface CallOptions {
  timeLimit: number;
  signal?: AbortSignal | undefined;
}

/** Makes the call. */
export async function call(core: Core, name: string, args: unknown, { timeLimit, signal }: CallOptions): Promise<Answer> {
  const running = core.call(name, written(args), timeLimit);
  const stop = (): void => running.stop();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return answerOf(await running.answer());
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** The arguments as JSON. Half of an emoji is no text; what is no JSON at all, the core answers to. */
function written(args: unknown): string {
  try {
    return JSON.stringify(args, (_name, value: unknown) => (typeof value === "string" ? whole(value) : value)) ?? "";
  } catch {
    return "";
  }
}

function whole(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

function answerOf({ verdict, reason, pieces, facts }: NativeAnswer): Answer {
  const all = pieces.map(pieceOf);
  return {
    verdict,
    ...(reason !== undefined && { reason }),
    text: all.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])).join("\n"),
    pieces: all,
    facts: parseObject(facts),
  };
}

function pieceOf({ kind, text, mime, data }: NativePiece): AnswerPiece {
  if (kind !== "image") return { type: "text", text: text ?? "" };
  return { type: "image", mimeType: mime ?? "application/octet-stream", data: Buffer.from(data ?? []).toString("base64") };
}
