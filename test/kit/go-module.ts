import { runProcess } from '../../dev/commands.ts';
import { extendEnvironment } from '../../dev/env.ts';

const WAIT = 120_000;

/** Returns the folder of a Go module, such as `sigs.k8s.io/gateway-api@v1.6.3`, which is fetched if it is not there. */
export async function folderOfModule(module: string): Promise<string> {
  const env = extendEnvironment({ GOTOOLCHAIN: 'local', GOWORK: 'off' });
  return (
    JSON.parse(
      await runProcess('go', ['mod', 'download', '-json', module], { env, timeout: WAIT }),
    ) as { Dir: string }
  ).Dir;
}
