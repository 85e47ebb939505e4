import { UsageError } from '../../../dev/errors.ts';

/**
 * Older versions of LangGraph whose users the runner serves: the last one of some series, with its packages. Those
 * before 1.0 have the tests of test/python/classes.test.ts and older-sends.test.ts alone.
 */
export const OLDER = {
  '0.4': 'test/python/older/requirements-0.4.txt',
  '0.5': 'test/python/older/requirements-0.5.txt',
  '0.6': 'test/python/older/requirements-0.6.txt',
  '1.0': 'test/python/older/requirements-1.0.txt',
  '1.1': 'test/python/older/requirements-1.1.txt',
};

export type Older = keyof typeof OLDER;

/** Returns the series that a person asks for. Throws with those that there are. */
export function olderOf(asked: string): Older {
  if (Object.hasOwn(OLDER, asked)) return asked as Older;
  throw new UsageError(`--langgraph ${asked}: it is one of ${Object.keys(OLDER).join(', ')}`);
}
