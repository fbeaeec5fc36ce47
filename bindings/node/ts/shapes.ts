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

/** The value in the words by which the core knows options. */
export function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return value.every(isString) ? "an array of strings" : "an array";
  if (isPlain(value)) return Object.values(value).every(isString) ? "an object of strings" : "an object";
  return kindOf(value);
}

/** An object that holds values and nothing else: what is in any other is not looked at. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const made: unknown = Object.getPrototypeOf(value);
  return made === null || made === Object.prototype;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** JSON text that holds an object; anything else is an empty one. */
export function parseObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) && !Array.isArray(value) ? value : {};
}
