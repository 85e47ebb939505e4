import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { isDockerRunning } from '../commands.ts';
import { UsageError } from '../errors.ts';
import { runLocked } from '../lock.ts';
import { formatSecondsSince, type Report } from '../steps.ts';
import { buildah } from './buildah.ts';
import { docker } from './docker.ts';
import type { Build, Engine } from './engine.ts';
import { folders } from './folders.ts';
import { chooseImages, listImages, buildImageReference, type Image } from './list.ts';
import { prune } from './prune.ts';

type EngineName = 'buildah' | 'docker';
type BuildOptions = { engine: EngineName; only?: readonly string[]; report: Report };
export type BuiltImage = { name: string; reference: string; archive: string };

const engines: Record<EngineName, Engine> = { buildah, docker };

/** Returns the engine of that name. Without a name it is Docker if that answers, else buildah. */
export async function chooseEngine(name?: string): Promise<EngineName> {
  if (name === undefined) return (await isDockerRunning()) ? 'docker' : 'buildah';
  if (name === 'docker' || name === 'buildah') return name;
  throw new UsageError(`--engine is docker or buildah, not "${name}".`);
}

/** Returns the reference that each image has as its files are now, whether it is built or not. */
export const listImageReferences = (engine: EngineName): Record<string, string> =>
  Object.fromEntries(
    listImages().map((image) => [image.name, buildImageReference(image, engines[engine].base)]),
  );

/** Returns archives of the images. Each is built only if something that it is made from has changed. */
export async function buildImages({
  engine: engineName,
  only,
  report,
}: BuildOptions): Promise<BuiltImage[]> {
  const engine = engines[engineName];
  const reportWait = () => report('waiting for another process that builds images');
  return runLocked('images', reportWait, async () => {
    const built: BuiltImage[] = [];
    let bases: Promise<Bases> | undefined;
    const further = chooseImages(only).flatMap(({ base }) => base ?? []);
    const prepareBases = () => (bases ??= engine.prepare(report, further));
    for (const image of chooseImages(only))
      built.push(await ensureImage({ engine, image, prepared: prepareBases, report }));
    return built;
  });
}

type Bases = Record<string, string>;
type Work = { engine: Engine; image: Image; prepared: () => Promise<Bases>; report: Report };

/** Returns the image as its files are now. If they change while it is built, it is built again. */
async function ensureImage(work: Work): Promise<BuiltImage> {
  const { engine, image, report } = work;
  for (;;) {
    const reference = buildImageReference(image, engine.base);
    const archive = folders.archive(reference);
    if (existsSync(archive)) return { name: image.name, reference, archive };
    await build(work, reference);
    if (buildImageReference(image, engine.base) === reference) {
      await saveTo(engine, reference, archive);
      await prune(engine, image.name);
      return { name: image.name, reference, archive };
    }
    await engine.remove(reference);
    report(`${image.name}: its files changed meanwhile, so it is built again`);
  }
}

async function saveTo(engine: Engine, reference: string, archive: string): Promise<void> {
  await engine.save(reference, `${archive}.unfinished`);
  await rename(`${archive}.unfinished`, archive);
}

async function build({ engine, image, prepared, report }: Work, reference: string): Promise<void> {
  await mkdir(folders.cache(), { recursive: true });
  const bases = await prepared();
  if (await engine.has(reference)) return;
  const started = performance.now();
  const { buildArguments, stages } = await ensureParents({ engine, image, prepared, report });
  report(`${image.name}: building`);
  const given = { buildArguments: { ...bases, ...buildArguments }, stages };
  await engine.build({
    image,
    reference,
    ...given,
    report: (line) => report(`${image.name}: ${line}`),
  });
  report(`${image.name}: built in ${formatSecondsSince(started)}`);
}

async function ensureParents({
  image,
  ...work
}: Work): Promise<Pick<Build, 'buildArguments' | 'stages'>> {
  const given: Pick<Build, 'buildArguments' | 'stages'> = { buildArguments: {}, stages: {} };
  for (const parent of image.parents ?? []) {
    const reference = buildImageReference(parent.image, work.engine.base);
    await build({ ...work, image: parent.image }, reference);
    if ('stage' in parent) given.stages[parent.stage] = reference;
    else given.buildArguments[parent.argument] = reference;
  }
  return given;
}
