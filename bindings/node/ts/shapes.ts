/**
 * What a value is, asked at run time.
 *
 * Owns the few questions by which this package believes what JavaScript hands it: nothing is taken for something that it
 * was not seen to be.
 */

/** An object whose fields may be looked at. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The value in a few words, for messages: never its content. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === undefined) return "undefined";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** JSON text that holds an object; anything else is an empty one. */
export function parseObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) && !Array.isArray(value) ? value : {};
}
