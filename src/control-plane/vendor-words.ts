import type { TSchema } from 'typebox';
import type { Reply, Route } from '../http/route.ts';
import type { Caller } from './needs.ts';

/** Under this path the whole API speaks the vendor's words, so that the vendor's own CLI works: its base address for self-hosted planes ends so. */
const PREFIX = '/api-host';

/** Ours, and the vendor's for the same. */
const SOURCES: Record<string, string> = { external_container: 'external_docker', git: 'github' };
const FIELDS: Record<string, string> = { gx_config_path: 'langgraph_config_path' };
/** What the vendor's clients send beside and nothing here depends on. */
const IGNORED = ['tracked_packages'];

const turned = (words: Record<string, string>) => Object.fromEntries(Object.entries(words).map(([ours, theirs]) => [theirs, ours]));
type Words = { sources: Record<string, string>; fields: Record<string, string> };
const THEIRS: Words = { sources: SOURCES, fields: FIELDS };
const OURS: Words = { sources: turned(SOURCES), fields: turned(FIELDS) };

/** A record, or records within answers, in other words. Secrets stay as they are, whatever they are named. */
function inWords(value: unknown, words: Words): unknown {
  if (Array.isArray(value)) return value.map((item) => inWords(item, words));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    if (name === 'source' && typeof inner === 'string') return [name, words.sources[inner] ?? inner];
    return [words.fields[name] ?? name, name === 'secrets' ? inner : inWords(inner, words)];
  });
  return Object.fromEntries(entries) as unknown;
}

type Properties = Record<string, { enum?: string[]; properties?: Properties; anyOf?: object[]; default?: unknown }>;

/** A body's schema that takes both words, and a creation without secrets. */
function takingBoth(schema: TSchema): TSchema {
  const whole = structuredClone(JSON.parse(JSON.stringify(schema))) as { properties?: Properties; required?: string[] };
  widen(whole);
  for (const name of IGNORED) if (whole.properties?.source !== undefined) whole.properties[name] = {};
  if (whole.required?.includes('secrets') === true) whole.required = whole.required.filter((name) => name !== 'secrets');
  return whole;
}

function widen(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  const { enum: values, properties } = node as { enum?: unknown[]; properties?: Properties };
  for (const [ours, theirs] of Object.entries(SOURCES)) if (values?.includes(ours) === true) values.push(theirs);
  for (const [ours, theirs] of Object.entries(FIELDS))
    if (properties?.[ours] !== undefined) properties[theirs] = structuredClone(properties[ours]);
  for (const inner of Object.values(node)) widen(inner);
}

/** The body as our own route takes it. */
function inOurs(body: unknown, schema: TSchema): unknown {
  const own = inWords(body, OURS) as Record<string, unknown>;
  for (const name of IGNORED) delete own[name];
  const { required } = schema as { required?: string[] };
  return required?.includes('secrets') === true ? { secrets: [], ...own } : own;
}

/** The same routes in the vendor's words; they are no part of the document. */
export function vendorRoutes(routes: Route<Caller>[]): Route<Caller>[] {
  return routes.map((route) => {
    const { body: schema, handler } = route;
    return {
      ...route,
      path: PREFIX + route.path.replace('/integrations/git/', '/integrations/github/'),
      ...(schema !== undefined && { body: takingBoth(schema) }),
      handler: async (request): Promise<Reply> => {
        const given = schema === undefined ? request : { ...request, body: inOurs(request.body, schema) as never };
        const reply = await handler(given);
        return reply.kind === 'json' ? { ...reply, body: inWords(reply.body, THEIRS) } : reply;
      },
    };
  });
}
