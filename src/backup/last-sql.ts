import { readFile } from 'node:fs/promises';
import { buildMarkerSql, type Marker } from './marker.ts';

/** The statements by which a copy of the data does nothing that the original does. */
export const QUIET_SQL = new URL('quiet.sql', import.meta.url);
const UNPIN = new URL('unpin.sql', import.meta.url);

/** Returns the last statements of a transaction that restores. */
export const readFinalSql = async (marker: Marker): Promise<string> =>
  `${await readFile(UNPIN, 'utf8')}\n${buildMarkerSql(marker)}`;
