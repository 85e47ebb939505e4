import type { JsonDifference } from './json-difference.ts';
import type { JsonNode } from './json-scan.ts';
import type { ScannedJson } from './json-text.ts';
import { formatPreview } from './json-tree.tsx';
import { Table } from '../../shell/table.tsx';

export type JsonChanges = { before: ScannedJson; after: ScannedJson; found: JsonDifference[] };

/** The fields that differ between two values, or a sentence that says that nothing does. */
export function ChangesShown({
  changes: { before, after, found },
  nothing,
}: {
  changes: JsonChanges;
  nothing: string;
}) {
  if (found.length === 0) return <p>{nothing}</p>;
  const renderNode = (json: ScannedJson, node: JsonNode | undefined) =>
    node && <code>{formatPreview(json, node)}</code>;
  const rows = found.map((one) => ({
    key: one.path,
    cells: [
      <bdi>{one.path === '' ? 'all of it' : one.path}</bdi>,
      renderNode(before, one.before),
      renderNode(after, one.after),
    ],
  }));
  return <Table class="changes" heads={['Field', 'Before', 'Now']} rows={rows} />;
}
