import { sealBlob, valuePlace } from './checkpoint-fields.ts';
import { nextList, type ListVersion } from './list-rows.ts';
import type { Db } from './pool.ts';

/*
 * Servers that are older than lists as changes (docs/decisions/0009-lists-as-changes.md) stored each version of a list
 * whole, as `json`. This file rewrites such rows when their thread is used again.
 */

/** Versions that are read at once. */
const PAGE = 32;

type OlderList = { channel: string; version: string; text: string };

/**
 * Rewrites the lists of a graph that were stored whole, oldest first. The thread's run is under way, so that nobody
 * removes a version meanwhile. No version changes its value, so readers notice nothing.
 */
export async function rewriteLists(db: Db, threadId: string, namespace: string): Promise<void> {
  let last: OlderList | undefined;
  let before: ListVersion<string> | undefined;
  for (;;) {
    const page = await olderLists(db, [threadId, namespace, last?.channel ?? '', last?.version ?? '']);
    const rows = page.map((row) => {
      const elements = (JSON.parse(row.text) as unknown[]).map((element) => JSON.stringify(element));
      if (row.channel !== last?.channel) before = undefined;
      const { base, text, list } = nextList(before, { version: row.version, elements, fresh: new Set(), textOf: (element) => element });
      last = row;
      before = list;
      return { ...row, base: base ?? null, text };
    });
    if (rows.length > 0) await replaceLists(db, [threadId, namespace], rows);
    if (page.length < PAGE) return;
  }
}

/** Returns the next older lists. A list that holds itself can't be divided, and stays as it is. */
function olderLists(db: Db, after: [threadId: string, namespace: string, channel: string, version: string]): Promise<OlderList[]> {
  return db.query<OlderList>({
    name: 'lists_older',
    text: `select channel, version, convert_from(blob, 'UTF8') as text from gx.checkpoint_blobs
      where thread_id = $1 and checkpoint_ns = $2 and (channel collate "C", version collate "C") > ($3, $4) and type = 'json'
        and substring(blob from 1 for 1) = '[' and position('"[Circular]"'::bytea in blob) = 0
      order by channel collate "C", version collate "C" limit ${PAGE}`,
    values: after,
  });
}

async function replaceLists(
  db: Db,
  graph: [threadId: string, namespace: string],
  rows: (OlderList & { base: string | null })[],
): Promise<void> {
  await db.query({
    name: 'lists_rewrite',
    text: `update gx.checkpoint_blobs b set type = 'list', base = r.base, blob = r.blob
      from unnest($3::text[], $4::text[], $5::text[], $6::bytea[]) as r (channel, version, base, blob)
      where b.thread_id = $1 and b.checkpoint_ns = $2 and b.channel = r.channel and b.version = r.version and b.type = 'json'`,
    values: [
      ...graph,
      rows.map(({ channel }) => channel),
      rows.map(({ version }) => version),
      rows.map(({ base }) => base),
      await Promise.all(
        rows.map(({ channel, version, text }) =>
          sealBlob(db.codec, valuePlace(channel, version), { type: 'list', blob: Buffer.from(text) }),
        ),
      ),
    ],
  });
}
