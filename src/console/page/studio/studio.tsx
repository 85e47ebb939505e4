import { useMemo } from 'preact/hooks';
import type { DeploymentDetail } from '../deployment/deployment-detail.ts';
import { useApp } from '../shell/app.ts';
import { StudioAgent } from './agent.ts';
import { ThreadShown } from './thread.tsx';
import { Threads } from './threads.tsx';

/** The threads of a deployment's agent, or one of them. A deployment that sleeps is not woken by looking. */
export function Studio({ detail }: { detail: DeploymentDetail }) {
  const { calls, router } = useApp();
  const agent = useMemo(() => new StudioAgent(calls, detail.id), [detail.id]);
  const { place } = router.located.value;
  if (detail.details.value?.asleep_since !== null)
    return <p class="note">The deployment sleeps, so its threads can't be shown. Looking does not wake it.</p>;
  if (place?.name !== 'thread') return <Threads agent={agent} id={detail.id} />;
  return <ThreadShown key={place.parameters.thread} agent={agent} id={detail.id} thread={place.parameters.thread} />;
}
