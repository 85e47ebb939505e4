import type { ApiRequest } from '../../api/api-request.ts';
import { RequestRefused } from '../../api/calls.ts';
import type { StudioAgent } from '../agent.ts';
import type { Catalog } from './catalogs.ts';
import type { ScannedJson } from '../json/json-text.ts';
import { readListedRecord, type ListedRecord } from './listed-record.ts';

export type PageOfRecords = { records: ListedRecord[]; hasMore: boolean };

export const RECORDS_ON_PAGE = 50;

/** Reads records of a list, from the one of this number on. Values of any size are left as they were sent. */
export async function readRecords(
  agent: StudioAgent,
  catalog: Catalog,
  { from, signal }: { from: number; signal: AbortSignal },
): Promise<PageOfRecords> {
  const { isPaged, within } = catalog;
  const page = isPaged ? { limit: RECORDS_ON_PAGE, offset: from } : {};
  const json = await fetchList(agent, catalog, { page, signal });
  const list = within === undefined ? json.root : await json.findChild(json.root, within, signal);
  const { found } =
    list === undefined || list.kind !== 'list'
      ? { found: [] }
      : await json.listChildren(list, signal);
  const records: ListedRecord[] = [];
  for (const node of found) records.push(await readListedRecord(json, node, signal));
  return { records, hasMore: isPaged && found.length >= RECORDS_ON_PAGE };
}

/** Asks for a list. A server that does not know all fields of the query, because it is older, is asked for fewer. */
async function fetchList(
  agent: StudioAgent,
  { path, body, query, olderQuery }: Catalog,
  { page, signal }: { page: Record<string, number>; signal: AbortSignal },
): Promise<ScannedJson> {
  const buildRequest = (fields: Catalog['query']): ApiRequest =>
    body === undefined
      ? { query: { ...fields, ...page }, signal }
      : { method: 'POST', body: { ...body, ...page }, signal };
  try {
    return await agent.fetchScanned(path, buildRequest(query));
  } catch (error) {
    if (olderQuery === undefined || !(error instanceof RequestRefused) || error.status !== 422)
      throw error;
    return agent.fetchScanned(path, buildRequest(olderQuery));
  }
}
