import type { RouterContext } from '@koa/router';
import { Invalid } from '../../errors.ts';
import { readBytesWithin, readJson, type BodyLimits } from '../bodies/body.ts';
import type { CostlyBodies } from '../bodies/costly-bodies.ts';
import { refuseUnstorable } from '../bodies/storable.ts';
import type { Check } from '../bodies/validate.ts';
import type { Route } from '../routes/route.ts';

type Reading<Caller> = {
  route: Route<Caller>;
  check: Check | undefined;
  limits: BodyLimits;
  from: { costly: CostlyBodies; caller: string };
};

/** Returns the bytes that a body of a route may have; 0 for one that takes none. */
export function getBodyLimit<Caller>(
  { rawBody, body, bodyBytes = Infinity, selects }: Route<Caller>,
  limits: BodyLimits,
): number {
  if (rawBody !== undefined) return rawBody.bytes;
  return body === undefined
    ? 0
    : Math.min(limits.bytes, bodyBytes, selects === true ? limits.selectionBytes : Infinity);
}

/** Reads the body of a request, as its route takes it. */
export async function readBody<Caller>(
  ctx: RouterContext,
  { route, check, limits, from }: Reading<Caller>,
): Promise<unknown> {
  const [bytes, seconds] = [getBodyLimit(route, limits), route.admission?.seconds];
  if (route.rawBody !== undefined) return readBytesWithin(ctx.req, bytes, seconds);
  if (check === undefined) return undefined;
  return readJson(
    ctx.req,
    { limits: { ...limits, bytes }, seconds, ...from },
    {
      refuse: (value) => {
        if (value === undefined && route.bodyOptional !== true)
          throw new Invalid([{ loc: ['body'], msg: 'Field required', type: 'missing' }]);
        refuseUnstorable(value, 'body');
      },
      check: (value) => check(value === undefined ? {} : value, 'body'),
    },
  );
}
