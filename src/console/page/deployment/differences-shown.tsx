import { differences } from './differences.ts';

type DifferencesProps = { before: object; after: object; heads: [before: string, after: string] };

/** The fields in which two values differ, side by side. */
export function DifferencesShown({ before, after, heads }: DifferencesProps) {
  const found = differences(before, after);
  if (found.length === 0) return <p>Image, configuration, sizes and secrets are the same.</p>;
  return (
    <table class="differences">
      <thead>
        <tr>
          <th scope="col">Field</th>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {found.map(({ path, before: one, after: other }) => (
          <tr key={path}>
            <th scope="row" class="mono">
              {path}
            </th>
            <td class="mono removed">{one ?? <span class="quiet">not set</span>}</td>
            <td class="mono added">{other ?? <span class="quiet">not set</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
