import type { Part } from './part.ts';
import { autoscaler } from './parts/autoscaler.ts';
import { backup } from './parts/backup.ts';
import { branch } from './parts/branch.ts';
import { database } from './parts/database.ts';
import { key } from './parts/key.ts';
import { people } from './parts/people.ts';
import { queue } from './parts/queue.ts';
import { rollout } from './parts/rollout.ts';
import { replacing } from './parts/replacement.ts';
import { restoration } from './parts/restore.ts';
import { outsideRoute } from './parts/route.ts';
import { service } from './parts/service.ts';
import { sleep } from './parts/sleep.ts';
import { store } from './parts/store.ts';
import { tracingProject } from './parts/tracing-project.ts';
import { usage } from './parts/usage.ts';
import { verification } from './parts/verification.ts';
import { trust } from './parts/trust.ts';
import { withoutEffect } from './parts/without-effect.ts';

/** All parts of a deployment, in the order in which they are prepared, written and stepped. */
export const DEPLOYMENT_PARTS: readonly Part[] = [
  tracingProject,
  branch,
  // Agents come after the parts that they use.
  database,
  restoration,
  replacing,
  backup,
  verification,
  key,
  store,
  service,
  outsideRoute,
  sleep,
  autoscaler,
  queue,
  people,
  usage,
  rollout,
  trust,
  withoutEffect,
];
