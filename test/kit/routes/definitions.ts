import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import { conditionOf } from '../api-server.ts';
import { until } from '../until.ts';

/* Definitions of the kinds of others, from the files of their modules. */

const KIND = 'CustomResourceDefinition';

/** Installs every definition in the files of these folders, and waits until the API server serves them. */
export async function installDefinitionsIn(folders: readonly string[], kube: Kube): Promise<void> {
  const found = (await Promise.all(folders.map(definitionsIn))).flat();
  await Promise.all(
    found.map((definition) => kube.apply(kinds.customResourceDefinition, definition)),
  );
  await until('the definitions are established', async () => {
    const live = await Promise.all(
      found.map(({ metadata: { name } }) => kube.get(kinds.customResourceDefinition, { name })),
    );
    return live.every((definition) => conditionOf(definition, 'Established') === 'True');
  });
}

async function definitionsIn(folder: string): Promise<KubeObject[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  return texts
    .flatMap((text) =>
      parseAllDocuments(withoutTemplates(text)).map(
        (document) => document.toJS() as KubeObject | null,
      ),
    )
    .filter(isDefinition);
}

/** A chart's files have lines that decide whether the rest is there. */
const withoutTemplates = (text: string): string => text.replace(/^\{\{.*\}\}$/gm, '');

const isDefinition = (object: KubeObject | null): object is KubeObject => object?.kind === KIND;
