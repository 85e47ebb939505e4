import { Invalid } from '../../errors.ts';
import type { Codec } from '../encryption/codec.ts';

/* A search can't look into what is encrypted. These functions refuse it by name instead of finding nothing. */

/** Refuses a filter that looks into values, while these are encrypted. */
export function refuseByValue({ encrypts }: Codec, field: string, filter: unknown): void {
  const asks = typeof filter === 'object' ? Object.keys(filter ?? {}).length > 0 : filter !== undefined && filter !== '';
  if (encrypts && asks) refuse([field], `Can't be searched by: this deployment encrypts what it would look into`);
}

/** Refuses a filter by metadata that asks for a field which is encrypted, at any depth. */
export function refuseByNamed(codec: Codec, metadata: unknown, path: (string | number)[] = ['metadata']): void {
  if (codec.names.size === 0 || typeof metadata !== 'object' || metadata === null) return;
  for (const [name, value] of Object.entries(metadata)) {
    if (codec.names.has(name)) refuse([...path, name], `Can't be searched by: this deployment encrypts "${name}" (GX_AES_JSON_KEYS)`);
    refuseByNamed(codec, value, [...path, name]);
  }
}

function refuse(path: (string | number)[], msg: string): never {
  throw new Invalid([{ loc: ['body', ...path], msg, type: 'not_supported' }]);
}
