import { join } from 'node:path';
import {
  buildLayout,
  choosePreferredSlot,
  getStatePaths,
} from '../../../dev/cluster/native/layout.ts';
import {
  conditionOf,
  deployed,
  labelsOf,
  newName,
  NAMESPACE,
  removed,
  sql,
  variablesOf,
} from '../agents.ts';
import type { Fault, Scene } from '../fault.ts';
import { onNode } from '../node.ts';

const MEBIBYTES = 500;
const CLASS = 'small-disks';
/** Some 20 MB of rows, which no log repeats. */
const ROWS = `insert into leftover select repeat(md5(i::text), 30) from generate_series(1, 20000) i`;

/** Gives the database of a deployment a small disk of its own. Returns the folder of the node at which it is. */
async function addDisk({ kubectl, system }: Scene, name: string): Promise<string> {
  const { state, nodeName } = buildLayout(system.name, choosePreferredSlot(system.name));
  const [folder, disk] = [
    join(getStatePaths({ state }).volumes, name),
    join(state, `${name}.disk`),
  ];
  await onNode(system.name, 'mkdir', '-p', folder);
  await onNode(system.name, 'truncate', '--size', `${MEBIBYTES}M`, disk);
  await onNode(system.name, 'mkfs.ext4', '-q', '-m', '0', disk);
  await onNode(system.name, 'mount', '-o', 'loop', disk, folder);
  await onNode(system.name, 'chmod', '777', folder);
  const terms = [
    { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [nodeName] }] },
  ];
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      storageClassName: CLASS,
      persistentVolumeReclaimPolicy: 'Retain',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      local: { path: folder },
      nodeAffinity: { required: { nodeSelectorTerms: terms } },
    },
  });
  return folder;
}

/** Returns the percent of the volume that are used. */
async function used({ kubectl }: Scene, name: string): Promise<number> {
  const df = ['sh', '-c', 'df --output=pcent "$(dirname "$PGDATA")" | tail -n 1'];
  return Number.parseInt(
    await kubectl('exec', `${name}-db-0`, '-n', NAMESPACE, '-c', 'postgres', '--', ...df),
    10,
  );
}

export const fullVolume: Fault = {
  name: 'a volume that is full',
  plant: async (scene) => {
    const name = newName('full');
    const folder = await addDisk(scene, name);
    await deployed(scene, name, { database: { storageClass: CLASS } });
    await sql(scene, name, 'create unlogged table leftover (row text)');
    while ((await used(scene, name)) < 92) await sql(scene, name, ROWS);
    return {
      labels: labelsOf(name),
      variables: { ...variablesOf(name), TABLE: 'leftover' },
      isCured: async () => {
        await sql(scene, name, 'create table if not exists written_again (row text)');
        return (await conditionOf(scene, name, 'VolumeHasRoom'))?.status !== 'False';
      },
      remove: async () => {
        await removed(scene, name);
        await scene.kubectl('delete', 'pv', name, '--timeout=60s');
        await onNode(scene.system.name, 'umount', folder);
      },
    };
  },
  found: { alert: 'GxDatabaseVolumeFull', seconds: 90 },
  page: { file: 'database-volume-full.md', entry: 'make room' },
  cured: { seconds: 120 },
};
