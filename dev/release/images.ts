import { createReadStream, createWriteStream, globSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { runProcess } from '../commands.ts';
import { DevError } from '../errors.ts';
import { readUnpackedImage } from '../images/opened.ts';
import { runSteps } from '../images/run-steps.ts';
import type { Report } from '../steps.ts';
import type { ReleasedImage } from './annotations.ts';
import type { ChartImage } from './chart-images.ts';
import { hashFile } from './checksums.ts';
import {
  buildImageIndex,
  formatLayoutIndex,
  formatPlatform,
  buildLayerDescriptor,
  buildPackedManifest,
  type Blob,
  type Descriptor,
  type Manifest,
  type Platform,
} from './layout.ts';
import type { Commit } from './source.ts';

/** The components that an image lists in a bill of its own. */
type Bill = { components: { name: string; purl?: string }[] };
export type MadeImage = ReleasedImage & { bills: Bill[] };
type Facts = { version: string; license: string; commit: Commit };

/** Compresses as builds do (src/builder/layers/layer.ts): higher levels take thrice as long for a tenth. */
const LEVEL = 3;

const isPacked = ({ mediaType }: Descriptor): boolean => /gzip|zstd/.test(mediaType);

/** Builds images from a commit's files by its own program. Returns the archive of each. */
export async function buildFrom(
  source: string,
  names: readonly string[],
  report: Report,
): Promise<Map<string, string>> {
  const program = ['dev/images/main.ts', ...names];
  await runSteps([process.execPath, ...program], { step: /./, report, cwd: source });
  const listed = await runProcess(process.execPath, program, { cwd: source });
  const lines = listed
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  return new Map(lines.map(([name = '', , archive = '']) => [name, archive]));
}

/** Writes OCI layouts: a folder that has each image by its reference, and layers that several images have only once. */
export class Layout {
  readonly #folder: string;
  readonly #facts: Facts;
  /** Packed layers, by the digest that they had before. */
  readonly #packed = new Map<string, Descriptor>();
  readonly #images: { reference: string; index: Descriptor }[] = [];

  constructor(folder: string, facts: Facts) {
    this.#folder = folder;
    this.#facts = facts;
  }

  /** Adds the image of an archive, and returns it with the bills that lie in it. */
  async add({ value, name, reference }: ChartImage, archive: string): Promise<MadeImage> {
    await mkdir(this.#blobs, { recursive: true });
    const unpacked = await mkdtemp(join(this.#folder, '.unpacked-'));
    try {
      await runProcess('tar', ['-xf', archive, '-C', unpacked]);
      const { manifest, blobs } = await readUnpackedImage(unpacked);
      const findBlobFile = (digest: string): string =>
        blobs.find((each) => each.digest === digest)?.file ?? '';
      const given = JSON.parse(Buffer.from(manifest).toString()) as Manifest;
      const platform = JSON.parse(
        readFileSync(findBlobFile(given.config.digest), 'utf8'),
      ) as Platform;
      const bills = await readBills(
        given.layers.map(({ digest }) => findBlobFile(digest)),
        unpacked,
      );
      const layers: Descriptor[] = [];
      for (const layer of given.layers)
        layers.push(await this.#packLayer(layer, findBlobFile(layer.digest)));
      await copyFile(findBlobFile(given.config.digest), this.#getBlobPath(given.config.digest));
      const packed = await this.#write(buildPackedManifest(given, layers));
      const { architecture, os } = platform;
      const index = await this.#write(
        buildImageIndex([{ manifest: packed, platform: { architecture, os } }], {
          name,
          ...this.#facts,
        }),
      );
      this.#images.push({ reference, index });
      return {
        value,
        name,
        reference,
        digest: index.digest,
        platforms: [formatPlatform(platform)],
        bills,
      };
    } finally {
      await rm(unpacked, { recursive: true, force: true });
    }
  }

  async finish(): Promise<void> {
    await writeFile(join(this.#folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}\n');
    await writeFile(join(this.#folder, 'index.json'), formatLayoutIndex(this.#images));
  }

  get #blobs(): string {
    return join(this.#folder, 'blobs', 'sha256');
  }

  #getBlobPath(digest: string): string {
    return join(this.#blobs, digest.replace('sha256:', ''));
  }

  async #write({ descriptor, text }: Blob): Promise<Descriptor> {
    await writeFile(this.#getBlobPath(descriptor.digest), text);
    return descriptor;
  }

  /** Packs a layer, unless it is packed or another image has it. Node's compressor gives the same bytes each time. */
  async #packLayer(layer: Descriptor, file: string): Promise<Descriptor> {
    const known = this.#packed.get(layer.digest);
    if (known !== undefined) return known;
    const made = isPacked(layer)
      ? await this.#copyLayer(layer, file)
      : await this.#compressLayer(file);
    this.#packed.set(layer.digest, made);
    return made;
  }

  async #copyLayer(layer: Descriptor, file: string): Promise<Descriptor> {
    await copyFile(file, this.#getBlobPath(layer.digest));
    return layer;
  }

  async #compressLayer(file: string): Promise<Descriptor> {
    const unfinished = join(this.#folder, '.layer');
    await pipeline(
      createReadStream(file),
      createGzip({ level: LEVEL }),
      createWriteStream(unfinished),
    );
    const packed = buildLayerDescriptor(
      `sha256:${await hashFile(unfinished)}`,
      (await stat(unfinished)).size,
    );
    await rename(unfinished, this.#getBlobPath(packed.digest));
    return packed;
  }
}

const BILLS = 'usr/share/gx/sbom/';

/** Returns the bills in an image's layers. A later layer's file takes the place of an earlier one. */
async function readBills(layers: readonly string[], folder: string): Promise<Bill[]> {
  for (const layer of layers) {
    const names = (await runProcess('tar', ['-tf', layer])).split('\n');
    const bills = names.filter(
      (name) => name.replace(/^\.?\//, '').startsWith(BILLS) && name.endsWith('.cdx.json'),
    );
    if (bills.length > 0) await runProcess('tar', ['-xf', layer, '-C', folder, ...bills]);
  }
  const found = globSync(join(folder, BILLS, '*.cdx.json')).toSorted();
  if (found.length === 0)
    throw new DevError(`An image does not say what it is made of: it has no file in /${BILLS}.`);
  return found.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Bill);
}
