import { sealNamed, type Place, type RecordName } from '../../encryption/codec.ts';
import { toField } from '../base/json-field.ts';
import type { Db } from '../base/pool.ts';

/** Returns what the column of a value gets, sealed where values are encrypted; null for a missing value. */
export async function sealField({ codec }: Pick<Db, 'codec'>, place: Place, value: unknown): Promise<string | null> {
  const json = toField(value);
  return json === null ? null : codec.seal(place, json);
}

/** Returns what the column of metadata, a config or a context gets. Named fields in it are sealed. */
export const namedField = async ({ codec }: Pick<Db, 'codec'>, of: RecordName, record: unknown): Promise<string | null> =>
  toField(await sealNamed(codec, of, record));
