import { readFile, rm, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { runProcess } from '../commands.ts';

/** Packs a folder into a .tgz whose bytes follow from its files and the time alone. */
export async function packFolder(
  parent: string,
  name: string,
  file: string,
  seconds: number,
): Promise<void> {
  const fixed = [
    '--sort=name',
    '--format=ustar',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
  ];
  await runProcess('tar', [
    ...fixed,
    `--mtime=@${seconds}`,
    '-cf',
    `${file}.tar`,
    '-C',
    parent,
    name,
  ]);
  await writeFile(file, gzipSync(await readFile(`${file}.tar`), { level: 9 }));
  await rm(`${file}.tar`);
}
