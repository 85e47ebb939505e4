import type { TSchema } from 'typebox';
import { createValidator } from '../../src/http/bodies/validate.ts';

/** Says whether a request body of this schema may be this value, as both servers judge it. */
export function accepts(schema: TSchema, value: unknown): boolean {
  const check = createValidator()(schema, 'body');
  try {
    check(structuredClone(value), 'body');
    return true;
  } catch {
    return false;
  }
}
