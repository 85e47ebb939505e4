import { randomUUID } from 'node:crypto';
import { input } from './api.ts';
import { measureBesideWaits, type Work } from './beside-waits.ts';
import { call } from './http.ts';
import type { Line } from './report.ts';
import type { BenchServer } from './servers.ts';

const called = ({ url }: BenchServer): Promise<void> =>
  call(`${url}/runs/wait`, { assistant_id: 'echo', input }, { 'idempotency-key': randomUUID() });

/** Measures what an Idempotency-Key adds to a wait for a run, in turns with waits without one. */
export const measureKeyed = (work: Work): Promise<Line[]> =>
  measureBesideWaits(work, {
    what: 'runs/wait with an Idempotency-Key',
    called,
    bounds: { more: 0.3 },
  });
