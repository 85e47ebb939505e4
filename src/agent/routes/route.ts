import { Type } from 'typebox';
import type { AnswerDescription, Route } from '../../http/routes/route.ts';
import { buildRouteMakers } from '../../http/routes/route.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import type { AgentCaller } from '../auth/caller.ts';

export type AgentRoute = Route<AgentCaller>;

/** Returns how routes of a tag are made. */
export const buildAgentRoutes = <Parts extends unknown[] = []>(tag: string) =>
  buildRouteMakers<AgentCaller, Parts>(tag);

export const ThreadPath = Type.Object({ thread_id: buildUuidSchema('') });
export const RunPath = Type.Object({ thread_id: buildUuidSchema(''), run_id: buildUuidSchema('') });

export const refused: Record<number, AnswerDescription> = {
  400: { description: 'The request breaks a rule.' },
  404: { description: 'Not there.' },
  422: { description: 'Not valid.' },
};

/** The refusals of routes that are for the deployment's own keys. */
export const refusedToUsers: Record<number, AnswerDescription> = {
  ...refused,
  403: { description: "The caller is a user, and the answer is for the deployment's own keys." },
};

/** The answer to a repetition of a request that makes something. */
export const goneAgain: Record<number, AnswerDescription> = {
  410: { description: 'The same request was carried out before, and its result is gone.' },
};

export const describeAnswer = (
  description: string,
  schema?: AnswerDescription['schema'],
): AnswerDescription => ({
  description,
  ...(schema !== undefined && { schema }),
});

/**
 * Returns a page with its headers: `X-Pagination-Next` only when there is another page, and `X-Pagination-Total`, which
 * counts as far as the search looked, one row beyond the page. Counting all would cost more than the page.
 */
export function buildPage<T>(
  rows: T[],
  { limit, offset }: { limit: number; offset: number },
): { rows: T[]; headers: Record<string, string> } {
  if (rows.length <= limit)
    return { rows, headers: { 'x-pagination-total': String(offset + rows.length) } };
  const next = offset + limit;
  return {
    rows: rows.slice(0, limit),
    headers: { 'x-pagination-total': String(next + 1), 'x-pagination-next': String(next) },
  };
}
