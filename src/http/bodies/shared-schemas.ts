import { isComposite, type Json } from '../../schema/json.ts';

/** Keywords that the API server alone reads, in definitions of custom resources. */
const OF_API_SERVER = 'x-kubernetes-';
/** Characters of JSON from which a part is worth a function of its own. */
const LEAST = 120;
/** Keywords whose values are data. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples']);

/**
 * Returns the schema with each large part that occurs more than once written once, under `$defs`, and referred to. It
 * takes the same values. ajv writes the check of a part at each place where it stands: with a pod's affinity at two
 * places, compiling a deployment's schema held a server for half a second. A part with a default stays where it is,
 * because ajv reads defaults beside the field. A schema that has references of its own is returned as it is.
 */
export function shareSchemaParts(schema: object): object {
  const counts = new Map<string, number>();
  if (!countParts(schema, counts)) return schema;
  const names = new Map(
    [...counts].filter(([, count]) => count > 1).map(([text], index) => [text, `part${index}`]),
  );
  if (names.size === 0) return schema;
  const $defs: Json = {};
  const root = replaceParts(schema, { names, $defs });
  return { ...(root as Json), $defs };
}

/** Counts the parts that may be shared, by their JSON. Returns false for a schema with names or references. */
function countParts(value: unknown, counts: Map<string, number>): boolean {
  if (!isComposite(value)) return true;
  if ('$ref' in value || '$id' in value || '$defs' in value) return false;
  const text = formatSharable(value);
  if (text !== undefined) {
    const count = counts.get(text) ?? 0;
    counts.set(text, count + 1);
    if (count > 0) return true;
  }
  return Object.entries(value).every(
    ([keyword, part]) => DATA.has(keyword) || countParts(part, counts),
  );
}

/** Returns the JSON of a part that may be shared. */
function formatSharable(part: Json): string | undefined {
  const isLarge =
    part['type'] === 'object' || part['type'] === 'array' || Array.isArray(part['anyOf']);
  if (!isLarge || 'default' in part) return undefined;
  const text = JSON.stringify(part);
  return text.length < LEAST ? undefined : text;
}

function replaceParts(
  value: unknown,
  shared: { names: ReadonlyMap<string, string>; $defs: Json },
): unknown {
  if (!isComposite(value)) return value;
  if (Array.isArray(value)) return value.map((part) => replaceParts(part, shared));
  const text = formatSharable(value);
  const name = text === undefined ? undefined : shared.names.get(text);
  const copyPart = (): Json =>
    Object.fromEntries(
      Object.entries(value)
        .filter(([keyword]) => !keyword.startsWith(OF_API_SERVER))
        .map(([keyword, part]) => [keyword, DATA.has(keyword) ? part : replaceParts(part, shared)]),
    );
  if (name === undefined) return copyPart();
  shared.$defs[name] ??= copyPart();
  return { $ref: `#/$defs/${name}` };
}
