import type { JsonDifference } from './json-difference.ts';
import type { ScannedJson } from './json-text.ts';
import { previewOf } from './json-tree.tsx';
import { Table } from '../../shell/table.tsx';

/** The differences of a value to the one before it. */
export type JsonChanges = { before: ScannedJson; after: ScannedJson; found: JsonDifference[] };

/** The fields that differ between two values, or a sentence that says that nothing does. */
export function ChangesShown({ changes: { before, after, found }, nothing }: { changes: JsonChanges; nothing: string }) {
  if (found.length === 0) return <p>{nothing}</p>;
  return (
    <Table class="changes" heads={['Field', 'Before', 'Now']}>
      {found.map((one) => (
        <tr key={one.path}>
          <th scope="row">
            <bdi>{one.path === '' ? 'all of it' : one.path}</bdi>
          </th>
          <td>{one.before === undefined ? '' : <code>{previewOf(before, one.before)}</code>}</td>
          <td>{one.after === undefined ? '' : <code>{previewOf(after, one.after)}</code>}</td>
        </tr>
      ))}
    </Table>
  );
}
