import { BUILD_STAGES } from '../../src/schema/names.ts';

type Ends = Partial<Record<(typeof BUILD_STAGES)[number], object>>;
type Given =
  | { running: string }
  | { succeeded: Ends }
  | { failed: string; message?: string | undefined; how?: string };

/** Returns the status of a build's pod as a kubelet would report it: stages before the named one have ended well. */
export function stagedStatus(given: Given): object {
  const at = 'running' in given ? given.running : 'failed' in given ? given.failed : undefined;
  const reached =
    at === undefined
      ? BUILD_STAGES.length
      : BUILD_STAGES.indexOf(at as (typeof BUILD_STAGES)[number]);
  const finishedAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const state = (stage: (typeof BUILD_STAGES)[number], index: number): object => {
    const told = 'succeeded' in given ? given.succeeded[stage] : undefined;
    if (index < reached)
      return {
        terminated: {
          reason: 'Completed',
          exitCode: 0,
          finishedAt,
          ...(told && { message: JSON.stringify(told) }),
        },
      };
    if (index > reached) return { waiting: { reason: 'PodInitializing' } };
    if ('running' in given) return { running: {} };
    const { how = 'Error', message } = given as { how?: string; message?: string };
    return {
      terminated: {
        reason: how,
        exitCode: how === 'OOMKilled' ? 137 : 1,
        finishedAt,
        ...(message !== undefined && { message }),
      },
    };
  };
  const statuses = BUILD_STAGES.map((name, index) => ({
    name,
    image: 'builder:1',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: state(name, index),
  }));
  const phase =
    'succeeded' in given
      ? 'Succeeded'
      : 'failed' in given
        ? 'Failed'
        : given.running === 'push'
          ? 'Running'
          : 'Pending';
  return {
    phase,
    initContainerStatuses: statuses.slice(0, -1),
    containerStatuses: statuses.slice(-1),
  };
}
