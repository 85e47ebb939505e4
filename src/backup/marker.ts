import type { RestoreDone } from '../schema/wire/restore-message.ts';

/** A database's own record of its restore, in the comment of its schema `gx`: deployment, backup and moment. */
export type Marker = RestoreDone & { restoredInto: string };

/** Returns the statement that writes the marker, in the transaction that restores. */
export const buildMarkerSql = (marker: Marker): string =>
  `comment on schema gx is '${JSON.stringify(marker).replaceAll("'", "''")}';\n`;

/** Returns the marker that a comment holds. Undefined for other comments. */
export function parseMarker(comment: string): Marker | undefined {
  try {
    const { restoredInto, backup, from } = JSON.parse(comment) as Partial<Marker>;
    return restoredInto === undefined || backup === undefined || from === undefined
      ? undefined
      : { restoredInto, backup, from };
  } catch {
    return undefined;
  }
}
