import { useApp } from '../shell/app.ts';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useWrite } from './write.ts';
import { WriteNotes } from './write-notes.tsx';
import { Button } from '../shell/controls.tsx';

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
        <Button class="main" disabled={isOff} label="Wake" press={() => run(post('wake'), 'It is being woken.')} />
      )}
      {details?.state === 'hibernated' && (
        <Button
          class="main"
          disabled={isOff}
          label="End hibernation"
          press={() => run(lifecycle({ hibernate: null }), 'It is being started.')}
        />
      )}
      {newest?.source === 'git' && (
        <Button disabled={isOff} label="Build again" press={() => run(post('revisions'), 'A new build was asked for.')} />
      )}
      {newest !== undefined && (
        <Button
          disabled={isOff}
          label="Redeploy"
          press={() => run(post(`revisions/${newest.id}/redeploy`), 'The newest revision is being deployed again.')}
        />
      )}
      {detail.manager.value !== undefined || refused !== undefined ? <WriteNotes detail={detail} refused={refused} /> : null}
    </div>
  );
}
