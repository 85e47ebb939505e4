import type { ComponentProps } from 'preact';

/** A table with a head for each column. Its children are the rows. */
export const Table = ({ heads, children, ...rest }: ComponentProps<'table'> & { heads: readonly string[] }) => (
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
    <tbody>{children}</tbody>
  </table>
);
