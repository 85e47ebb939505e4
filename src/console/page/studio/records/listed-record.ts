import type { JsonNode } from '../json/json-scan.ts';
import type { ScannedJson } from '../json/json-text.ts';

/** A record of a list: its short fields, and where it stands in the answer. */
export type ListedRecord = { fields: Record<string, unknown>; json: ScannedJson; node: JsonNode };

/** Letters of a field that a table may show. */
const SHORT = 2000;

/** Reads the short fields of a record. */
export async function readListedRecord(
  json: ScannedJson,
  node: JsonNode,
  signal?: AbortSignal,
): Promise<ListedRecord> {
  const { found } = await json.listChildren(node, signal);
  const fields = Object.fromEntries(
    found.map((one) => [one.name, one.end - one.start > SHORT ? undefined : json.parseSmall(one)]),
  );
  return { fields, json, node };
}
