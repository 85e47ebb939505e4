import type { IncomingHttpHeaders } from 'node:http';
import { limitText } from '../../../errors.ts';
import type { HeaderPatterns } from '../../../schema/agent/gx-json.ts';

/** Headers that carry a credential, which pass only when a rule names them in full: a `*` never means them. */
const CREDENTIALS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'sec-websocket-protocol',
  'x-api-key',
  'x-tenant-id',
  'x-service-key',
]);

type Passes = (name: string) => boolean;

/**
 * Decides which headers become configurable values of a run (`http.configurable_headers` of gx.json). Without rules
 * none do; an exclusion wins.
 */
export function buildHeaderFilter(rules: HeaderPatterns | undefined): Passes {
  const includes = parsePatterns(rules?.includes, rules?.include);
  const excludes = parsePatterns(rules?.excludes, rules?.exclude);
  return (name) => {
    const included = CREDENTIALS.has(name)
      ? includes.some(({ text }) => text === name)
      : includes.some(({ matches }) => matches.test(name));
    return included && !excludes.some(({ matches }) => matches.test(name));
  };
}

/** Characters of a header in the log. */
const LONGEST_LOGGED = 1000;

/**
 * Decides which headers of a request stand in its log (`http.logging_headers` of gx.json); undefined without rules.
 * Those that carry a credential never do, even if they are named.
 */
export function buildLogHeaderFilter(
  rules: HeaderPatterns | undefined,
): ((headers: IncomingHttpHeaders) => Record<string, string> | undefined) | undefined {
  if (rules === undefined) return undefined;
  const passes = buildHeaderFilter(rules);
  return (headers) => {
    const passing = pickHeaders(headers, (name) => !CREDENTIALS.has(name) && passes(name));
    const entries = Object.entries(passing);
    return entries.length === 0
      ? undefined
      : Object.fromEntries(
          entries.map(([name, value]) => [name, limitText(value, LONGEST_LOGGED)]),
        );
  };
}

/**
 * Returns the headers of a request that pass, by their lower-case names. Commas join the values of a repeated header.
 */
export function pickHeaders(headers: IncomingHttpHeaders, passes: Passes): Record<string, string> {
  const passing = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && passes(name),
  );
  return Object.fromEntries(passing.map(([name, value]) => [name, [value].flat().join(', ')]));
}

/** Escapes a text for a regular expression, because `RegExp.escape` came only with Node 24. */
const escapeLiteral = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function parsePatterns(...lists: (string[] | undefined)[]): { text: string; matches: RegExp }[] {
  return lists
    .flatMap((list) => list ?? [])
    .map((pattern) => {
      const text = pattern.toLowerCase();
      return { text, matches: new RegExp(`^${text.split('*').map(escapeLiteral).join('.*')}$`) };
    });
}
