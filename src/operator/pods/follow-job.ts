import { Forbidden } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube, KubeObject } from '../../kube/kube.ts';
import {
  findJobEnd,
  findJobHindrance,
  isPodless,
  type JobHindrance,
  type JobState,
} from './job-state.ts';

/** The events of one Job that are read at most. Equal ones are counted in one. */
const MOST_EVENTS = 100;

type JobLook = { now: Date; signal: AbortSignal };

/** Returns a Job by its name. The operator may list Jobs, and has no right to get one. */
export async function findJob(
  kube: Kube,
  { namespace, name }: KubeObject['metadata'],
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const options = {
    ...(namespace !== undefined && { namespace }),
    fieldSelector: `metadata.name=${name}`,
  };
  return (await kube.listAll(kinds.job, options, signal))[0];
}

/** Returns why a Job still has no pod, by its events. Undefined while it is young. */
export async function readHindrance(
  kube: Kube,
  job: KubeObject,
  { now, signal }: JobLook,
): Promise<JobHindrance | undefined> {
  if (!isPodless(job, now)) return undefined;
  const { namespace = '', name, uid = '' } = job.metadata;
  const fieldSelector = `regarding.kind=Job,regarding.name=${name},regarding.uid=${uid}`;
  try {
    const { items } = await kube.list(
      kinds.event,
      { namespace, fieldSelector, limit: MOST_EVENTS },
      signal,
    );
    return findJobHindrance(items, name);
  } catch (error) {
    // An installation of an earlier version has not granted events yet.
    if (error instanceof Forbidden)
      return { reason: 'Refused', message: `Job ${name} has no pod: see its events.` };
    throw error;
  }
}

/** Returns how a Job is that has no pod, which may have failed, or may not be there at all. */
export async function readPodlessJobState(
  kube: Kube,
  metadata: KubeObject['metadata'],
  { deadline, ...looking }: JobLook & { deadline: string },
): Promise<JobState | { is: 'absent' }> {
  const job = await findJob(kube, metadata, looking.signal);
  if (job === undefined) return { is: 'absent' };
  const end = findJobEnd(job);
  if (end?.type === 'Failed')
    return {
      is: 'lost',
      message:
        end.reason === 'DeadlineExceeded'
          ? deadline
          : `Its Job failed: ${end.message ?? end.reason}.`,
    };
  if (end !== undefined) return { is: 'under-way' };
  const hindrance = await readHindrance(kube, job, looking);
  return hindrance === undefined ? { is: 'under-way' } : { is: 'hindered', ...hindrance };
}
