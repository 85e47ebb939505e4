import { UsageError } from '../../dev/errors.ts';

/**
 * Older versions of LangGraph whose users the runner serves: the last one of each series. With 1.0, pip would choose
 * prebuilt agents that need 1.1.
 */
export const OLDER = { '1.0': ['langgraph==1.0.10', 'langgraph-prebuilt==1.0.8'], '1.1': ['langgraph==1.1.10'] };

export type Older = keyof typeof OLDER;

/** Returns the series that a person asks for. Throws with those that there are. */
export function olderOf(asked: string): Older {
  if (Object.hasOwn(OLDER, asked)) return asked as Older;
  throw new UsageError(`--langgraph ${asked}: it is one of ${Object.keys(OLDER).join(', ')}`);
}
