import { Invalid } from '../../../errors.ts';
import { isSealed, type Codec, type RecordName } from '../../encryption/codec.ts';

/* A search can't look into encrypted values. These functions refuse it by name instead of finding nothing. */

/** Refuses a filter that looks into values, while these are encrypted. */
export function refuseByValue({ encrypts }: Codec, field: string, filter: unknown): void {
  const asks =
    typeof filter === 'object'
      ? Object.keys(filter ?? {}).length > 0
      : filter !== undefined && filter !== '';
  if (encrypts && asks)
    refuse([field], `Can't be used in a search: this deployment encrypts the values to search`);
}

/** Refuses a filter by metadata that asks for a field which is encrypted, at any depth. */
export async function refuseByNamed(
  codec: Codec,
  of: RecordName,
  metadata: unknown,
): Promise<void> {
  if (typeof metadata !== 'object' || metadata === null) return;
  if (codec.names.size > 0) refuseNames(codec, metadata, ['metadata']);
  if (codec.sealKeys === undefined) return;
  // A field that the module would change is changed wherever it stands.
  const sealed = await codec.sealKeys(of, metadata as Record<string, unknown>);
  for (const [name, value] of Object.entries(sealed))
    if (isSealed(value))
      refuse(
        ['metadata', name],
        `Can't be used in a search: encryption.path encrypts "${name}" here`,
      );
}

function refuseNames(codec: Codec, metadata: object, path: (string | number)[]): void {
  for (const [name, value] of Object.entries(metadata) as [string, unknown][]) {
    if (codec.names.has(name))
      refuse(
        [...path, name],
        `Can't be used in a search: this deployment encrypts "${name}" (GX_AES_JSON_KEYS)`,
      );
    if (typeof value === 'object' && value !== null) refuseNames(codec, value, [...path, name]);
  }
}

function refuse(path: (string | number)[], msg: string): never {
  throw new Invalid([{ loc: ['body', ...path], msg, type: 'not_supported' }]);
}
