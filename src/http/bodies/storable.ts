import { Invalid } from '../../errors.ts';
import { DEEPEST } from './json-structure.ts';
import { isComposite } from '../../schema/json.ts';

/** Where the fault is, from the inside out. */
type Fault = { path: string[]; msg: string };

/**
 * Refuses values that cannot be stored as they were sent, with a 422 that names the place: the NUL character and half
 * surrogate pairs, which Postgres text cannot hold; numbers beyond a double; nesting that overflows the stack; and
 * names that change the prototype of an object they are copied into.
 */
export function refuseUnstorable(value: unknown, at: 'body' | 'query' | 'path'): void {
  const fault = findFault(value, 0);
  if (fault === undefined) return;
  const loc = [at, ...fault.path.toReversed()];
  throw new Invalid([{ loc, msg: fault.msg, type: 'value_error' }]);
}

function findFault(value: unknown, depth: number): Fault | undefined {
  if (typeof value === 'string') return buildFault(checkText(value));
  if (typeof value === 'number')
    return buildFault(Number.isFinite(value) ? undefined : 'the number is too large');
  if (!isComposite(value)) return undefined;
  if (depth === DEEPEST) return buildFault(`nested deeper than ${DEEPEST} levels`);
  return Array.isArray(value) ? findListFault(value, depth) : findObjectFault(value, depth);
}

function findListFault(list: unknown[], depth: number): Fault | undefined {
  // By number, because a list of a million items would first make a million names.
  for (let at = 0; at < list.length; at += 1) {
    const fault = findFault(list[at], depth + 1);
    if (fault !== undefined) return addPathStep(String(at), fault);
  }
  return undefined;
}

function findObjectFault(object: Record<string, unknown>, depth: number): Fault | undefined {
  for (const name of Object.keys(object)) {
    const fault = buildFault(checkName(name, object[name])) ?? findFault(object[name], depth + 1);
    if (fault !== undefined) return addPathStep(name, fault);
  }
  return undefined;
}

function addPathStep(name: string, fault: Fault): Fault {
  fault.path.push(name);
  return fault;
}

const buildFault = (msg: string | undefined): Fault | undefined =>
  msg === undefined ? undefined : { path: [], msg };

function checkText(text: string): string | undefined {
  if (text.includes('\0')) return 'the NUL character can not be stored';
  return text.isWellFormed() ? undefined : 'half of a surrogate pair can not be stored';
}

/**
 * `constructor` alone is an ordinary name. With a `prototype` inside, it reaches the class of the object it is copied
 * into.
 */
function checkName(name: string, part: unknown): string | undefined {
  const isTrap =
    name === '__proto__' ||
    (name === 'constructor' && isComposite(part) && Object.hasOwn(part, 'prototype'));
  return isTrap ? 'this name is not allowed' : checkText(name);
}
