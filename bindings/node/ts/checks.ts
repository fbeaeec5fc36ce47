/**
 * Options, looked at when something is made of them.
 *
 * Owns nothing but the way to the core: which options there are and what each has to be, the core says.
 */
import { checkOptions } from "./native.js";
import { isRecord, kindOf, shapeOf } from "./shapes.js";

/** Throws where `given` holds an option that this function does not take, or lacks one that it needs. What is undefined is absent. */
export function check(of: string, given: unknown): void {
  if (!isRecord(given)) throw new TypeError(`${of} takes an object, and this is ${kindOf(given)}`);
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  checkOptions(of, named.map(([name, value]) => ({ name, is: shapeOf(value) })));
}
