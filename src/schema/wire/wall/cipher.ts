import { Type, type Static } from 'typebox';
import { StringEnum } from '../../types.ts';
import { Bytes } from './forms.ts';

/* Questions to the module of `encryption.path`, and their answers. */

/** The operation of the module on a value, as JSON text or bytes. `of` is the kind of record and its field. */
export const CipherCall = Type.Union([
  Type.Object({ does: StringEnum(['seal', 'open', 'seal-keys']), of: Type.String(), text: Type.String() }),
  Type.Object({ does: StringEnum(['seal', 'open']), of: Type.String(), bytes: Bytes }),
]);
export type CipherCall = Static<typeof CipherCall>;

/** Text is answered with text, and bytes with bytes. */
export const CipherAnswer = Type.Union([Type.String(), Bytes]);
export type CipherAnswer = Static<typeof CipherAnswer>;
