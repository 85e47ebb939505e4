import type { EncryptionSettings } from '../../config/agent/encryption.ts';
import { StartError } from '../../errors.ts';
import { buildAesCodec } from './aes.ts';
import type { Codec } from './codec.ts';
import { buildCustomCodec, type Cipher } from './custom.ts';

/** The module of `encryption.path`. One that only decrypts `encrypts` nothing. */
export type EncryptionModule = { cipher: Cipher; encrypts: boolean };

/**
 * Returns the codec that a deployment asks for; undefined where it asks for none. Keys and a module read side by
 * side, and one of them writes. Throws a `StartError` where both would.
 */
export function buildCodec(
  keys: EncryptionSettings | undefined,
  module: EncryptionModule | undefined,
): Codec | undefined {
  if (module === undefined) return keys && buildAesCodec(keys);
  if (module.encrypts && keys?.encrypts === true)
    throw new StartError(
      'GX_AES_KEY and encryption.path of gx.json would both encrypt. Begin GX_AES_KEY with "none," so that its keys only decrypt, or leave the module only its decrypt handlers.',
    );
  if (module.encrypts && keys !== undefined && keys.names.length > 0)
    throw new StartError(
      'GX_AES_JSON_KEYS has no effect beside encryption.path: encrypt.json chooses the keys. Remove it.',
    );
  return buildCustomCodec(module, buildAesCodec(keys ?? { keys: [], encrypts: false, names: [] }));
}
