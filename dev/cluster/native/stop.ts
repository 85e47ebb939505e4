import { existsSync, readFileSync, rmSync, rmdirSync } from 'node:fs';
import { Unhealthy } from '../../errors.ts';
import { waitUntil } from '../../wait.ts';
import { isCgroupBusy, removeCgroup } from './cgroups.ts';
import { listKnownClusters, detachNode, restoreForwarding } from './host.ts';
import { buildLayout, choosePreferredSlot, getStateFolder, statesFolder } from './layout.ts';
import { fixedFolders } from './namespaces.ts';
import {
  listChildProcesses,
  isAlive,
  readProcessMark,
  readRecord,
  type ProcessMark,
} from './record.ts';

/** Kills the node and removes every trace of it. Returns whether there was one. */
export async function stopNode(name: string): Promise<boolean> {
  if (!existsSync(getStateFolder(name))) return false;
  const record = readRecord(name);
  const layout = record?.layout ?? buildLayout(name, choosePreferredSlot(name));
  await killNode(record?.process);
  await waitUntil({ what: 'the pods to end', seconds: 30 }, () => !isCgroupBusy(layout.cgroup));
  await detachNode(layout);
  await waitUntil({ what: 'the cgroups to be free', seconds: 10 }, () => tryRemove(layout.cgroup));
  removeState(layout.state);
  if (listKnownClusters().length === 0) removeShared();
  return true;
}

async function killNode(outer: ProcessMark | undefined): Promise<void> {
  if (outer === undefined || !isAlive(outer)) return;
  const inner = listChildProcesses(outer.pid).map(readProcessMark);
  process.kill(outer.pid, 'SIGKILL');
  await waitUntil({ what: 'the node to end', seconds: 30 }, () => ![outer, ...inner].some(isAlive));
}

// Returns whether the cgroup is gone. The kernel counts a dead process in its group for a moment longer.
function tryRemove(cgroup: string): boolean {
  try {
    removeCgroup(cgroup);
    return true;
  } catch {
    return false;
  }
}

function removeState(state: string): void {
  // Deleting through a mount would delete the mounted files.
  if (isMountedBelow(state))
    throw new Unhealthy(`Something is mounted below ${state}: unmount it first.`);
  rmSync(state, { recursive: true, force: true, maxRetries: 5 });
}

const isMountedBelow = (folder: string): boolean =>
  readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${folder}/`);

function removeShared(): void {
  restoreForwarding();
  rmSync(statesFolder, { recursive: true, force: true });
  for (const folder of fixedFolders) removeIfEmpty(folder);
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder holds something that is not ours.
  }
}
