import type { KubeObject } from '../../../kube/kube.ts';
import { REVISION } from '../../../schema/labels.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { isPodReady, isPodUp } from '../../pods/diagnose.ts';
import type { DatabaseFacts } from '../database.ts';
import { notReady, ready } from '../ready.ts';

type Facts = Pick<DatabaseFacts, 'active' | 'secret'> & { view: { agentPods: KubeObject[] } };

/**
 * States whether the external database takes connections. The operator connects to no database, but agent pods do. They
 * are ready only while queue and database answer, and alive without them. If all that run are alive and none is ready,
 * the database is the reason.
 */
export function externalStatement({ view, active, secret }: Facts): StatedCondition {
  if (secret === undefined) return notReady('The Secret of the external database has not been read yet.');
  if ('problem' in secret) return notReady(secret.problem);
  const serving = view.agentPods
    .filter(({ metadata }) => isOf(metadata, active) && metadata.deletionTimestamp === undefined)
    .filter(isPodUp);
  if (serving.length > 0 && !serving.some(isPodReady))
    return notReady(`No pod can reach the database that the Secret ${secret.secret} names; the pods keep running and try again.`);
  return ready(`The Secret ${secret.secret} names an external database.`, 'External');
}

const isOf = ({ annotations }: KubeObject['metadata'], revision: string | undefined): boolean => annotations?.[REVISION] === revision;
