import { randomBytes } from 'node:crypto';
import { kinds } from '../../../../kube/kube.ts';
import { ROLES_SEPARATED } from '../../../../schema/conditions.ts';
import { MADE_WITH_ROLES } from '../../../../schema/labels.ts';
import type { DeploymentResource } from '../../../../schema/custom-resources.ts';
import { names } from '../../../../schema/names.ts';
import { PASSWORD_PODS } from '../../../family/caches.ts';
import type { StatedCondition } from '../../../kernel/outcome.ts';
import { adminCredential } from './secret.ts';
import { dataOwner } from '../../../family/metadata.ts';
import type { DatabaseDeps, DatabasePass } from '../../database.ts';
import { isDatabaseUp } from '../ready.ts';
import { listCredentials } from './list.ts';
import { isDone, podOf, runTask } from './job-pod.ts';

export type Separation = {
  /** The admin's Secret, once the agents' own role is not a superuser. */
  admin?: string;
  /** Present while the roles are being separated. */
  statement?: StatedCondition;
  /** Seconds after which to look again. */
  again?: number;
};

type Pass = Pick<DatabasePass, 'view' | 'signal' | 'now'>;

/**
 * How many databases have their roles separated at the same time. After an upgrade of the platform, all of them need
 * it.
 */
const AT_ONCE = 10;
const LOOK_AGAIN = 30;

/**
 * Gives today's roles to a database whose agents were made superusers. This happens once, while it runs, to a few at a
 * time. The admin's Secret of a database that was made with these roles says so.
 */
export async function separateRoles(deps: DatabaseDeps, deployment: DeploymentResource, pass: Pass): Promise<Separation> {
  const { view, signal } = pass;
  const { name, namespace } = deployment.metadata;
  const admin = names.databaseAdmin(name, dataOwner(deployment));
  const secret = await deps.kube.find(kinds.secret, { namespace, name: admin }, signal);
  if (secret?.metadata.annotations?.[MADE_WITH_ROLES] !== undefined) return { admin };
  if (!isDatabaseUp(view)) return {};
  const current = (await listCredentials(deps, deployment, signal)).at(-1);
  if (current === undefined) return {};
  const job = names.passwordJob(name, 'separate', current.number);
  if (isDone(view, job)) {
    await deps.kube.delete(kinds.job, { namespace, name: job }, { propagation: 'Background' }, signal);
    return { admin };
  }
  const busy = deps.caches.pods.keysByIndex(PASSWORD_PODS, PASSWORD_PODS).length;
  if (podOf(view, job) === undefined && busy >= AT_ONCE) return { again: LOOK_AGAIN };
  if (secret === undefined)
    await deps.writer.create(adminCredential(deployment, deps.settings, { random: randomBytes, isNew: false }), signal);
  const trouble = await runTask(deps, deployment, { task: 'separate', from: current, to: current }, pass);
  const said = trouble === undefined ? '' : ` ${trouble}`;
  const message = `The agents' login is losing its superuser rights in the database.${said}`;
  return { statement: { type: ROLES_SEPARATED, status: 'False', reason: 'SeparatingRoles', message, event: 'Normal' } };
}
