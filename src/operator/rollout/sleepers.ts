import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { WorkSummary } from '../../schema/wire/work-summary.ts';
import { resolveMinReplicas, type Templated } from './replicas.ts';

/** Returns true if a deployment may sleep: its spec asks for no pod at least, and a gateway is installed. */
export const isSleeper = (of: Templated, settings: OperatorSettings): boolean =>
  settings.gateway !== undefined &&
  resolveMinReplicas(of, 'api', settings) === 0 &&
  resolveMinReplicas(of, 'queue', settings) === 0;

/** Seconds of rest after which it sleeps. */
export const getSecondsBeforeSleep = (
  { spec }: DeploymentResource,
  { sleepAfterSeconds }: OperatorSettings,
): number => spec.sleep?.afterSeconds ?? sleepAfterSeconds;

/** Returns true if its database sleeps with it. */
export const mayDatabaseSleep = (
  { spec }: DeploymentResource,
  { sleepDatabases }: OperatorSettings,
): boolean => spec.sleep?.database ?? sleepDatabases;

/** Returns true while it sleeps, as its status says. */
export const isAsleep = ({ status }: DeploymentResource): boolean =>
  status?.asleepSince !== undefined;

export const hasWork = ({ due, running, webhooks }: WorkSummary): boolean =>
  due + running + webhooks > 0;

/** Returns true if nothing is to be done, nobody has asked for long enough, and nothing is due soon. */
export function mayRest(
  summary: WorkSummary,
  { now, after, ahead }: { now: Date; after: number; ahead: number },
): boolean {
  const { idleSeconds, nextDue } = summary;
  if (hasWork(summary) || idleSeconds === undefined || idleSeconds < after) return false;
  return nextDue === undefined || Date.parse(nextDue) - now.getTime() > ahead * 1000;
}
