import { useApp } from '../shell/app.ts';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';

/** The changes that make sense in the present state. */
export function HeaderActions({ detail }: { detail: DeploymentDetail }) {
  const { calls } = useApp();
  const { run, isOff, refused } = useWrite(detail);
  const { value: details } = detail.details;
  const newest = detail.revisions.value[0];
  const path = `v2/deployments/${encodeURIComponent(detail.id)}`;
  const post = (rest: string) => (): Promise<unknown> => calls.json(`${path}/${rest}`, { method: 'POST' });
  const lifecycle = (body: object) => (): Promise<unknown> => calls.json(`${path}/lifecycle`, { method: 'PATCH', body });
  return (
    <div class="actions">
      {details?.state === 'asleep' && (
        <button type="button" class="main" disabled={isOff} onClick={() => void run(post('wake'), 'It is being woken.')}>
          Wake
        </button>
      )}
      {details?.state === 'hibernated' && (
        <button
          type="button"
          class="main"
          disabled={isOff}
          onClick={() => void run(lifecycle({ hibernate: null }), 'It is being started.')}
        >
          End hibernation
        </button>
      )}
      {newest?.source === 'git' && (
        <button type="button" disabled={isOff} onClick={() => void run(post('revisions'), 'A new build was asked for.')}>
          Build again
        </button>
      )}
      {newest !== undefined && (
        <button
          type="button"
          disabled={isOff}
          onClick={() => void run(post(`revisions/${newest.id}/redeploy`), 'The newest revision is being deployed again.')}
        >
          Redeploy
        </button>
      )}
      {detail.manager.value !== undefined || refused !== undefined ? <WriteNotes detail={detail} refused={refused} /> : null}
    </div>
  );
}
