/*
 * Postgres keeps the plan of a named statement only if that plan looks no dearer than one for the values at hand. It
 * takes ten rows for a list that it does not know, so a statement for a list of one would be planned again each time.
 */

/** Returns a parameter whose value, or length, the planner can't see, so that the statement keeps its plan. */
export const wrapParameter = (parameter: string): string => `(select ${parameter})`;

/** Returns SQL for rows from such lists: column -> its type. The parameters follow each other, beginning with $1. */
export function buildRowsSql(columns: Record<string, string>, name: string): string {
  const lists = Object.values(columns).map((type, at) => wrapParameter(`$${at + 1}::${type}[]`));
  const names = Object.keys(columns).map((column) => `"${column}"`);
  return `unnest(${lists.join(', ')}) as ${name} (${names.join(', ')})`;
}
