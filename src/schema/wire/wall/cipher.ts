import { Type, type Static } from 'typebox';
import { buildEnumSchema } from '../../types.ts';
import { buildJsonObjectSchema } from '../../agent/agent-types.ts';
import { Bytes, buildOptionalSchema } from './forms.ts';

/* Questions to the module of `encryption.path`, and their answers. */

/** The context that the handlers get as `metadata`. Without one, it is empty. */
const context = buildOptionalSchema(buildJsonObjectSchema('The context of the value.'));

/**
 * The operation of the module on a value, as JSON text or bytes. `of` is the kind of record and its field. `context` is
 * the one that the value is encrypted under, or was. `replace` asks for the stored value that the module wants in place
 * of one, and `replaces` whether reads have asked for such since the last time. `try` and `try-keys` seal and open a
 * value, whole or under its keys.
 */
export const CipherCall = Type.Union([
  Type.Object({
    does: buildEnumSchema(['seal', 'open', 'seal-keys', 'replace', 'replaces', 'try', 'try-keys']),
    of: Type.String(),
    text: Type.String(),
    context,
  }),
  Type.Object({
    does: buildEnumSchema(['seal', 'open', 'replace']),
    of: Type.String(),
    bytes: Bytes,
    context,
  }),
]);
export type CipherCall = Static<typeof CipherCall>;

/** Text is answered with text, and bytes with bytes. `null`, or no bytes, stand for a value that is not replaced. */
export const CipherAnswer = Type.Union([Type.String(), Bytes]);
export type CipherAnswer = Static<typeof CipherAnswer>;

/** The context that the module derives from the caller, in place of the one that the request brought. */
export const DerivedContext = Type.Object({
  metadata: buildJsonObjectSchema('The context of all that the request encrypts.'),
});
export type DerivedContext = Static<typeof DerivedContext>;
