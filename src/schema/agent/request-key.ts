import { Type } from 'typebox';

/** The form of a key: visible ASCII, so that nothing on its way changes it. */
export const KEY_FORM = { pattern: '^[!-~]{1,255}$', minLength: 1, maxLength: 255 };

/** The header of requests that are carried out once, however often they come. */
export const OnceHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      ...KEY_FORM,
      description:
        'The same request with the same key makes nothing new for 24 hours: it is answered with the result of the first one.',
    }),
  ),
});
