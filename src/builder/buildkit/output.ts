import { StageFailed } from '../../errors.ts';

/** Returns whether the users of a container are its own. On the host, user 0 is user 0, and so are all others. */
export function hasOwnUsers(uidMap: string): boolean {
  const [inside, outside, count] = uidMap.trim().split(/\s+/).map(Number);
  return !(inside === 0 && outside === 0 && count === 4_294_967_295);
}

/** Returns the daemon's settings. The registry of these hosts speaks plain http. */
export function formatDaemonSettings(plainHosts: readonly string[]): string {
  const registries = plainHosts.map((host) => `[registry."${host}"]\n  http = true\n`);
  return [
    '[worker.containerd]\n  enabled = false\n',
    '[worker.oci]\n  enabled = true\n  gc = false\n',
    ...registries,
  ].join('\n');
}

const KILLED = /exit code: 137/;

/** Returns the meaning of a failed build. The builder within a Dockerfile prints its own reason. */
export function buildSolveFailure({ output, last }: { output: string; last: string }): StageFailed {
  const printed = /\b(InstallFailed|BuildFailed|ConfigMissing|DiskFull): (.+)/.exec(output);
  if (printed !== null) return new StageFailed(printed[1]!, printed[2]!);
  const how = KILLED.test(last)
    ? 'A command of the Dockerfile was killed, probably because memory ran out'
    : 'The Dockerfile could not be run';
  return new StageFailed('BuildFailed', `${how}. The last lines: ${last}`);
}
