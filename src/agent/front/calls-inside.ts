import type { IncomingMessage } from 'node:http';
import { buildDirectClient } from '../../http/callers/client.ts';
import {
  listHeaderPairs,
  filterMessageHeaders,
  type InProcess,
  type Inside,
} from '../../http/server/in-process.ts';
import { openToAll } from '../auth/authenticate.ts';
import type { AgentCaller } from '../auth/caller.ts';
import type { AnswerHere, AskedHere } from '../exchange/exchanges.ts';

/** Asks the built-in routes; without `inside`, as the user's own code, which may do everything. */
export type AskInside = (
  asked: AskedHere<unknown>,
  inside?: Inside<AgentCaller>,
) => Promise<AnswerHere>;

const OWN_CODE = openToAll({ source: 'this process' });

/** Returns a function that asks the routes without the network. Paths may be given with the prefix or without it. */
export const buildInProcessFetch =
  (routes: InProcess<AgentCaller>, prefix: string): AskInside =>
  async (
    { head, body, signal },
    inside = { ...buildDirectClient(OWN_CODE.source), caller: OWN_CODE },
  ) => {
    const path = buildPrefixedPath(head.url, prefix);
    return toInnerAnswer(
      await routes.ask({ method: head.method, path, headers: head.headers, body, signal }, inside),
    );
  };

/** Returns the path of an address, with its query, below the prefix. */
export function buildPrefixedPath(url: string, prefix: string): string {
  const { pathname, search } = new URL(url);
  return prefix + (stripPathPrefix(prefix, pathname) ?? pathname) + search;
}

/** Returns the rest of a path below the prefix; undefined for one that is not below it. */
export const stripPathPrefix = (prefix: string, path: string): string | undefined =>
  path === prefix ? '/' : path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;

function toInnerAnswer(answer: IncomingMessage): AnswerHere {
  const chunks = answer.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  const body = {
    read: async () => (await chunks.next()).value,
    cancel: () => void answer.destroy(),
  };
  return {
    head: {
      status: answer.statusCode!,
      headers: filterMessageHeaders(listHeaderPairs(answer)).map(
        ([name, value]): [string, string] => [name.toLowerCase(), value],
      ),
    },
    body,
  };
}
