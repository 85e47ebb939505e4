import type { ComponentChildren, ComponentProps } from 'preact';

/** A row of a table. The first of its cells names it. */
export type TableRow = { key: string | number; cells: readonly ComponentChildren[] };

type TableProps = ComponentProps<'table'> & {
  heads: readonly string[];
  rows?: readonly TableRow[];
  /** The class of the cells that name rows. */
  names?: string;
  /** The head of the column with sentences, whose words may be longer than it is wide. */
  sentences?: string;
};

/**
 * A table with a head for each column. Its children are rows of another form. On a narrow page it scrolls sideways by
 * itself, and so it takes the focus.
 */
export const Table = ({ heads, rows = [], names, sentences, children, ...rest }: TableProps) => (
  <div class="scrolls" role="group" aria-label={heads.join(', ')} tabIndex={0}>
    <table {...rest}>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells: [name, ...others] }) => (
          <tr key={key}>
            <th scope="row" class={names}>
              {name}
            </th>
            {others.map((cell, at) => (
              <td
                key={at}
                data-head={heads[at + 1]}
                class={heads[at + 1] === sentences ? 'text' : undefined}
              >
                {cell}
              </td>
            ))}
          </tr>
        ))}
        {children}
      </tbody>
    </table>
  </div>
);
