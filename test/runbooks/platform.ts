import { runProcess } from '../../dev/commands.ts';
import { ensurePathTool } from '../../dev/cluster/path-tools.ts';
import type { Scene } from './fault.ts';

/** Installs the chart again, with further values if there are any. */
export async function installed(
  { system }: Pick<Scene, 'system'>,
  values: object = {},
): Promise<void> {
  const helm = await ensurePathTool('helm', () => undefined);
  const flags = [
    '--reuse-values',
    '--force-conflicts',
    '--values',
    '-',
    '--wait',
    '--kubeconfig',
    system.kubeconfig,
  ];
  await runProcess(helm, ['upgrade', 'gx', 'charts/gx-platform', '-n', 'gx-system', ...flags], {
    input: JSON.stringify(values),
  });
}
