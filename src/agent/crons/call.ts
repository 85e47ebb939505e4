import { CALL_FIELDS, type Cron, type CronCall } from '../../schema/agent/cron.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { Json } from '../../schema/json.ts';

/* This file says what is kept of a cron's call, how clients see it, and which run it asks for. */

/** Returns the fields of a call that a body gives, also as null. */
export const pickCronCall = (body: CronCall): CronCall =>
  Object.fromEntries(
    CALL_FIELDS.filter((name) => body[name] !== undefined).map((name) => [name, body[name]]),
  );

const toObject = (value: unknown): Json => (value ?? {}) as Json;

/** Returns the cron as clients see it: its payload has the assistant, and the name under which its runs know it. */
export function toClientCron<C extends Partial<Cron> & Cron>(cron: C): C {
  const { cron_id, assistant_id } = cron;
  if (cron.payload === undefined) return cron;
  const config = toObject(cron.payload['config']);
  const configurable = { ...toObject(config['configurable']), cron_id };
  return {
    ...cron,
    payload: { assistant_id, ...cron.payload, config: { ...config, configurable } },
  };
}

export type RunsCron = Pick<
  Cron,
  'assistant_id' | 'thread_id' | 'metadata' | 'on_run_completed'
> & { payload: CronCall };

/** Returns the run that a cron asks for each time. */
export const buildCronRun = ({
  assistant_id,
  thread_id,
  metadata,
  on_run_completed,
  payload,
}: RunsCron): RunCreate => ({
  ...payload,
  assistant_id,
  metadata,
  ...(thread_id === null && { on_completion: on_run_completed ?? 'delete' }),
});
