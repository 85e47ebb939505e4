import { useMemo } from 'preact/hooks';
import type { DeploymentDetail } from './deployment-detail.ts';
import { useApp } from '../shell/app.ts';
import { StudioAgent } from '../studio/agent.ts';
import { StudioFrame } from '../studio/frame.tsx';
import { StudioProvider, type StudioParts } from '../studio/studio-parts.ts';

/** The studio of a deployment's agent. A deployment that sleeps is not woken by looking. */
export function Studio({ detail }: { detail: DeploymentDetail }) {
  const { calls, router, mayWrite } = useApp();
  const { id } = detail;
  const agent = useMemo(
    () =>
      new StudioAgent((path, asked) =>
        calls.open(`api/agents/${encodeURIComponent(id)}/${path}`, asked),
      ),
    [id],
  );
  const { place } = router.located.value;
  if (detail.details.value?.asleep_since !== null)
    return (
      <p class="note">
        The deployment sleeps, so its threads can't be shown. Opening this page does not wake it.
      </p>
    );
  const buildHref = (part: string): string =>
    part === 'threads'
      ? router.buildHref('studio', { id })
      : router.buildHref('studioPart', { id, part });
  const parts: StudioParts = {
    agent,
    mayAct: mayWrite,
    part: place?.name === 'studioPart' ? place.parameters.part : '',
    href: buildHref,
    go: (part) => router.visitHref(buildHref(part)),
    readOnly: 'Your key may only read.',
  };
  return (
    <StudioProvider value={parts}>
      <StudioFrame />
    </StudioProvider>
  );
}
