import type { StudioAgent } from '../agent.ts';
import type { Catalog } from './catalogs.ts';
import { recordAt, type ListedRecord } from './listed-record.ts';

/** Some records of a list, and whether there are more. */
export type PageOfRecords = { records: ListedRecord[]; hasMore: boolean };

export const RECORDS_ON_PAGE = 50;

/** Reads records of a list, from the one of this number on. Values of any size are left as they were sent. */
export async function readRecords(
  agent: StudioAgent,
  catalog: Catalog,
  { from, signal }: { from: number; signal: AbortSignal },
): Promise<PageOfRecords> {
  const { path, body, query, isPaged, within } = catalog;
  const page = isPaged ? { limit: RECORDS_ON_PAGE, offset: from } : {};
  const asked = body === undefined ? { query: { ...query, ...page } } : { method: 'POST' as const, body: { ...body, ...page } };
  const json = await agent.scanned(path, { ...asked, signal });
  const list = within === undefined ? json.root : await json.child(json.root, within, signal);
  const { found } = list === undefined || list.kind !== 'list' ? { found: [] } : await json.children(list, signal);
  const records: ListedRecord[] = [];
  for (const node of found) records.push(await recordAt(json, node, signal));
  return { records, hasMore: isPaged && found.length >= RECORDS_ON_PAGE };
}
