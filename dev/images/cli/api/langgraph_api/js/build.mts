// Makes the bundles of components of "ui", which other servers do by the file of this name.
import { spawnSync } from 'node:child_process';

const { status } = spawnSync(process.execPath, ['/app/src/main.ts', 'agent-build'], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
