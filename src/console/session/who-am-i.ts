import { text } from 'node:stream/consumers';
import { Forbidden, Problem, Unavailable } from '../../errors.ts';
import type { WhoAmI } from '../../schema/platform/whoami.ts';
import type { ControlPlaneDoor } from '../control-plane.ts';
import { headersInwards, type SentAlong } from '../headers.ts';

/** A key, and the request that brings it. `tenant`: that of X-Tenant-Id. */
export type KeyOfCaller = SentAlong & { tenant: string | undefined; signal: AbortSignal };

/** Returns whose key it is; undefined if the control plane does not take it. Throws any other refusal of it. */
export async function askWhoAmI(
  door: Pick<ControlPlaneDoor, 'ask'>,
  { tenant, signal, ...along }: KeyOfCaller,
): Promise<WhoAmI | undefined> {
  const given = { accept: 'application/json', ...(tenant !== undefined && { 'x-tenant-id': tenant }) };
  const answer = await door.ask({ method: 'GET', path: '/v2/whoami', headers: headersInwards(given, along), body: undefined, signal });
  const body = parsed(await text(answer));
  const status = answer.statusCode ?? 0;
  if (status === 200) return body as WhoAmI;
  if (status === 401) return undefined;
  const detail = body?.detail ?? `The control plane answered with ${status}.`;
  if (status === 403) throw new Forbidden(detail);
  if (status === 429) throw new Problem(429, detail, { headers: { 'retry-after': answer.headers['retry-after'] ?? '10' } });
  throw new Unavailable(`The control plane can not say whose key this is: ${detail}`);
}

function parsed(body: string): { detail?: string } | undefined {
  try {
    return JSON.parse(body) as { detail?: string };
  } catch {
    return undefined;
  }
}
