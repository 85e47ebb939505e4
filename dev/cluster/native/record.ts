import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { getStatePaths, getStateFolder, type Layout } from './layout.ts';

/** The facts about a cluster's node. They are written before anything is changed on the host. */
export type NodeRecord = {
  layout: Layout;
  /** Tool -> its path. */
  tools: Record<string, string>;
  /** The outermost process of the node's namespaces. */
  process?: ProcessMark;
};

/** A process, by its id and start time, because another process may have the same id by now. */
export type ProcessMark = { pid: number; startedAt: string };

export function readRecord(name: string): NodeRecord | undefined {
  try {
    return JSON.parse(
      readFileSync(getStatePaths({ state: getStateFolder(name) }).record, 'utf8'),
    ) as NodeRecord;
  } catch {
    return undefined;
  }
}

export async function writeRecord(record: NodeRecord): Promise<void> {
  const path = getStatePaths(record.layout).record;
  await writeFile(`${path}.new`, JSON.stringify(record, undefined, 2));
  await rename(`${path}.new`, path);
}

export function readProcessMark(pid: number): ProcessMark | undefined {
  const startedAt = readStartTime(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Returns the path of a tool that the node was started with. */
export function requireTool({ tools }: NodeRecord, name: string): string {
  const path = tools[name];
  if (path === undefined) throw new Error(`The node was started without the tool ${name}.`);
  return path;
}

export const isAlive = (mark: ProcessMark | undefined): boolean =>
  mark !== undefined && readStartTime(mark.pid) === mark.startedAt;

// Field 22 of /proc/PID/stat; the name, field 2, may hold spaces. A zombie is dead.
function readStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

export function listChildProcesses(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
