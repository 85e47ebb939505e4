import { sealNamed, type Place, type RecordName } from '../../encryption/codec.ts';
import { toField } from '../base/json-field.ts';
import type { Db } from '../base/pool.ts';

/** Returns the content of the column of a value, sealed where values are encrypted; null for a missing value. */
export async function sealField(
  { codec }: Db,
  place: Place,
  value: unknown,
): Promise<string | null> {
  const json = toField(value);
  return json === null ? null : codec.seal(place, json);
}

/** Returns the content of the column of metadata, a config or a context. Named fields in it are sealed. */
export const sealNamedField = async (
  { codec }: Db,
  of: RecordName,
  record: unknown,
): Promise<string | null> => toField(await sealNamed(codec, of, record));
