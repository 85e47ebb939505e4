import type { TSchema } from 'typebox';
import { Rejected } from '../errors.ts';
import type { Reply, Route } from '../http/routes/route.ts';
import type { Caller } from './caller.ts';
import { isComposite } from '../schema/json.ts';

/**
 * Under this path the whole API uses the vendor's words. The vendor's own CLI expects this path at the end of a self-
 * hosted address.
 */
const PREFIX = '/api-host';

/** Our words, and the vendor's words for the same sources. */
const SOURCES: Record<string, string> = { external_container: 'external_docker', git: 'github' };
const FIELDS: Record<string, string> = { gx_config_path: 'langgraph_config_path' };
/** Sources whose images the vendor's own cloud builds or keeps. Its CLI asks for them unless it is given an image. */
const BUILT_THERE = ['internal_docker', 'internal_source'];
/** Deployment types that sleep while nobody sends requests. The vendor's CLI asks for one of them by default. */
const ASLEEP = ['dev_zero', 'dev_free_zero'];
/** Further values that are accepted for one of ours. */
const MORE_WORDS: [string, string[]][] = [
  ['external_container', ['external_docker', ...BUILT_THERE]],
  ['git', ['github']],
  ['dev_free', ASLEEP],
];
/** Fields that the vendor's clients also send and that nothing here depends on. */
const IGNORED = ['tracked_packages'];

const convertToInverse = (words: Record<string, string>) =>
  Object.fromEntries(Object.entries(words).map(([ours, theirs]) => [theirs, ours]));
type Words = { sources: Record<string, string>; fields: Record<string, string> };
const THEIRS: Words = { sources: SOURCES, fields: FIELDS };
const OURS: Words = { sources: convertToInverse(SOURCES), fields: convertToInverse(FIELDS) };

/** Translates the words of a record and of records inside it. Secrets stay as they are, whatever they are named. */
function replaceWords(value: unknown, words: Words): unknown {
  if (Array.isArray(value)) return value.map((item) => replaceWords(item, words));
  if (!isComposite(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    if (name === 'source' && typeof inner === 'string')
      return [name, words.sources[inner] ?? inner];
    return [words.fields[name] ?? name, name === 'secrets' ? inner : replaceWords(inner, words)];
  });
  return Object.fromEntries(entries) as unknown;
}

type Properties = Record<
  string,
  { enum?: string[]; properties?: Properties; anyOf?: object[]; default?: unknown }
>;

/** Returns a body's schema that also takes the vendor's words, and a creation without secrets. */
function buildVendorSchema(schema: TSchema): TSchema {
  const whole = structuredClone(JSON.parse(JSON.stringify(schema))) as {
    properties?: Properties;
    required?: string[];
  };
  extendSchema(whole);
  for (const name of IGNORED)
    if (whole.properties?.source !== undefined) whole.properties[name] = {};
  if (whole.required?.includes('secrets') === true)
    whole.required = whole.required.filter((name) => name !== 'secrets');
  return whole;
}

function extendSchema(node: unknown): void {
  if (!isComposite(node)) return;
  const { enum: values, properties } = node as { enum?: unknown[]; properties?: Properties };
  for (const [ours, theirs] of MORE_WORDS)
    if (values?.includes(ours) === true) values.push(...theirs);
  for (const [ours, theirs] of Object.entries(FIELDS))
    if (properties?.[ours] !== undefined) properties[theirs] = structuredClone(properties[ours]);
  for (const inner of Object.values(node)) extendSchema(inner);
}

function toOwnBody(body: unknown, schema: TSchema): unknown {
  const own = replaceWords(body, OURS) as Record<string, unknown>;
  for (const name of IGNORED) delete own[name];
  checkFeatures(own);
  const { required } = schema as { required?: string[] };
  return required?.includes('secrets') === true ? { secrets: [], ...own } : own;
}

/** Refuses, with a clear message, requests of the vendor's clients for features that only the vendor has. */
function checkFeatures({ source, source_config: config }: Record<string, unknown>): void {
  if (BUILT_THERE.includes(source as string)) {
    const way =
      'deploy from a git repository (source github), or push the image to a registry and name it with --image-uri';
    throw new Rejected(
      `source: ${String(source)} uploads the source to build, which is not supported here: ${way}`,
    );
  }
  const { deployment_type: type } = (config ?? {}) as { deployment_type?: unknown };
  if (ASLEEP.includes(type as string))
    throw new Rejected(
      `source_config.deployment_type: ${String(type)} is not offered; use dev or prod`,
    );
}

/** Returns the same routes in the vendor's words. The OpenAPI document does not list them. */
export function buildVendorRoutes(routes: Route<Caller>[]): Route<Caller>[] {
  return routes.map((route) => {
    const { body: schema, handler } = route;
    return {
      ...route,
      path: PREFIX + route.path.replace('/integrations/git/', '/integrations/github/'),
      ...(schema !== undefined && { body: buildVendorSchema(schema) }),
      handler: async (request): Promise<Reply> => {
        const given =
          schema === undefined ? request : { ...request, body: toOwnBody(request.body, schema) };
        const reply = await handler(given);
        return reply.kind === 'json' ? { ...reply, body: replaceWords(reply.body, THEIRS) } : reply;
      },
    };
  });
}
